"""Faults for the mutation test: for each claim one in a formula, and one that breaks an assumption in its code."""

from ledgermutants import Fault


def _of(file: str, claim: str, *changes: tuple[str, str]) -> list[Fault]:
    return [Fault(file, (claim,), old, new) for old, new in changes]


FORMULAS = [
    *_of("concentration", "C1", ("return math.exp(-rounds * gap**2 / 2)", "return math.exp(-rounds * gap**2)")),
    *_of("concentration", "C2", ("return a * b / ((a + b) ** 2 * (a + b + 1))", "return a * b / ((a + b) ** 2 * (a + b))")),
    *_of("concentration", "C3", ("return math.ceil(2 * math.log(1 / level) / gap**2)", "return math.ceil(math.log(1 / level) / gap**2)")),
    *_of("dependence", "C4", ("return math.atan(math.sqrt(sd_bias**2 +", "return math.atan(math.sqrt(sd_bias +")),
    *_of("dependence", "C5", ("return rounds / (1 + (rounds - 1) * correlation)", "return rounds / (1 + rounds * correlation)")),
    *_of(
        "dependence",
        "C6",
        ("return float(ndtr(-ratio * math.sqrt(gain**2 - 1) / gain))", "return float(ndtr(-ratio * math.sqrt(gain**2 - 1)))"),
    ),
    *_of("stable_gap", "C7", ('return -x if decision == "mean" else', 'return x if decision == "mean" else')),
    *_of("stable_gap", "C8", ("seen = abs(gap + e) if absolute else gap + e", "seen = abs(gap + e) if absolute else abs(gap + e)")),
    *_of("signs", "C9", ("return (2 + p - p**2) / base, p**2 * (2 - p) / base", "return (2 + p - p**2) / base, p**2 * (3 - p) / base")),
    *_of("separation", "K1", ("_cdf(worse, x) ** k - _cdf(better, x) ** k", "_cdf(worse, x) ** k - _cdf(better, x)")),
    *_of("separation", "K2", ("weights = [math.exp(x) for x in scores]", "weights = [x for x in scores]")),
    *_of("separation", "K3", ("return np.asarray(f * (1 - g) + g * (1 - f))", "return np.asarray(f * (1 - g) - g * (1 - f))")),
    *_of("growth", "K4", ("return k * (a - b) / ((k * a + 1) * (k * b + 1))", "return k * (a - b) / ((k * a + 1) * (k * b + 2))")),
    *_of("growth", "K5", ("return gap + (scale_better - scale_worse) *", "return gap + (scale_better + scale_worse) *")),
    *_of("winning", "K6", ("density = k * (1 - tail) ** (k - 1) * 3", "density = k * (1 - tail) ** k * 3")),
    *_of(
        "winning",
        "K7",
        ("return third * 2 * third * x_only + 4 * third**2 * both", "return third * 2 * third * x_only + 2 * third**2 * both"),
    ),
    *_of("winning", "K8", ("return k / (1 + (k - 1) * correlation) if", "return k / (1 + k * correlation) if")),
    *_of("numerics", "K9", ("return k * integral01(", "return integral01(")),
    *_of("schedule", "U1", ("return 1 - 0.35 / chains", "return 1 - 0.35 / (chains + 1)")),
    *_of("schedule", "U2", ('return chains + 1 + masses["low"]', 'return chains + masses["low"]')),
    *_of("schedule", "U3", ("endless = run(_one_tier(64)", "endless = run(_one_tier(3)")),
    *_of(
        "consensus",
        "U4",
        (
            "epsilons = Fraction(change, agents), Fraction(change + 1, agents)",
            "epsilons = Fraction(change, agents), Fraction(change + 2, agents)",
        ),
    ),
    *_of("consensus", "U5", ("fires[:, -1] = True", "fires[:, 0] = True")),
    *_of("consensus", "U6", ("5 * (1 - falls) * falls**4 * (1 - rises)", "(1 - falls) * falls**4 * (1 - rises)")),
    *_of("copying", "U7", ("step = binary_round(rule, agents)\n    found = [", "step = binary_round(rule, agents).T\n    found = [")),
    *_of("copying", "U8", ("return float(a**2 + 2 * a * (1 - a) * b)", "return float(a**2 + a * (1 - a) * b)")),
    *_of(
        "votes", "U9", ("betainc(difficulty.a, difficulty.b, share.w / (1 + share.w))", "betainc(difficulty.a, difficulty.b, share.w / 2)")
    ),
    *_of("figures", "U10", ("Fraction(_ROUNDS * n) for n, r in stops", "Fraction(r * n) for n, r in stops")),
    *_of("figures", "U11", ("return Fraction(rounds - first_stop, rounds)", "return Fraction(rounds - first_stop + 1, rounds)")),
    *_of(
        "figures",
        "U12",
        (
            "Fraction(2 * sum(math.comb(n, k) for k in range(low + 1)), 2**n)",
            "Fraction(sum(math.comb(n, k) for k in range(low + 1)), 2**n)",
        ),
    ),
    *_of("votes", "U13", ("return [math.log(a / (1 - a)) for a in accuracies]", "return [math.log(1 / (1 - a)) / 3 for a in accuracies]")),
    *_of("bound", "U14", ("slopes = (vertex_right - stop) / vertex_calls", "slopes = (vertex_right - stop) * vertex_calls")),
    *_of(
        "jury", "J1", ("return float(ndtr(ndtri(accuracy) / math.sqrt(correlation)))", "return float(ndtr(ndtri(accuracy) / correlation))")
    ),
    *_of("jury", "J2", ("total += chance * (lead > 0)", "total += chance * (lead >= 0) / 2")),
    *_of("jury", "J3", ("low, high = accuracy, 2 - accuracy", "low, high = accuracy, 1 - accuracy / 2")),
]

ASSUMPTIONS = [
    *_of("concentration", "C1", ("chance = 0.5 + (gap + bias) / (2 * spread)", "chance = 0.5 + (bias - gap) / (2 * spread)")),
    *_of("concentration", "C2", ('world={"growth": 1e6, "limit": 0.0}', 'world={"growth": 20.0, "limit": 0.0}')),
    *_of("concentration", "C3", ("MEASURED_GAP = Fraction(1765, 12000)", "MEASURED_GAP = Fraction(1765, 10000)")),
    *_of("dependence", "C4", ('world={"sd_bias": 0.0, "rounds": 1e7}', 'world={"sd_bias": 1.0, "rounds": 1e7}')),
    *_of("dependence", "C5", ("correlation ** apart.astype(float)", "correlation + 0 * apart.astype(float)")),
    *_of("dependence", "C6", ("ratio * scale if repeated else 0.0", "ratio * scale if not repeated else 0.0")),
    *_of(
        "stable_gap",
        "C7",
        ('"mixed": (gaussian_round(0.5, 0.5), gaussian_round(0.5, 2.0))', '"mixed": (gaussian_round(0.5, 1.0), gaussian_round(0.5, 1.0))'),
    ),
    *_of("stable_gap", "C8", ("-2: Fraction(1, 10), -1: Fraction(2, 10)", "-2: Fraction(2, 10), -1: Fraction(1, 10)")),
    *_of("signs", "C9", ("fresh = (1 - repeat) * np.array([1 - p, p])", "fresh = (1 - repeat) * np.array([p, 1 - p])")),
    *_of("separation", "K1", ("yield from (((x,) * k, mass) for x, mass in law.items())", "yield from ()")),
    *_of(
        "separation",
        "K2",
        (
            "t([gap + x for x in scores]) - t([spread * x for x in scores])",
            "t([gap + spread * x for x in scores]) - t([spread * x for x in scores])",
        ),
    ),
    *_of("separation", "K3", ('worth = 1 if copies or aggregate == "mean" else k', 'worth = 1 if aggregate == "mean" else k')),
    *_of("growth", "K4", ('world={"a": 0.3, "b": 0.2}', 'world={"a": 3.0, "b": 2.0}')),
    *_of("growth", "K5", ("separation(better, worse, 1 if copies else k)", "separation(better, worse, k)")),
    *_of("winning", "K6", ('world={"law": "normal"}', 'world={"law": "exponential"}')),
    *_of("winning", "K7", ("abs(max(x) - max(y)) > abs(x[0] - y[0])", "abs(max(x) - max(y)) >= abs(x[0] - y[0])")),
    *_of("winning", "K8", ("    if shared:\n", "    if not shared:\n")),
    *_of(
        "growth",
        "K9",
        ('world={"scores": "gamma", "ceiling": math.inf, "gain": 1.3}', 'world={"scores": "gamma", "ceiling": 6.0, "gain": 1.3}'),
    ),
    *_of("schedule", "U1", ("PUBLISHED: Weights = (0.45, 0.35, 0.20)", "PUBLISHED: Weights = (0.45, 0.35, 0.25)")),
    *_of("schedule", "U2", ("replace(uaad, synthesiser=synthesiser, tiers=tiers)", "replace(uaad, tiers=tiers)")),
    *_of("schedule", "U3", ('world={"limit": 3}', 'world={"limit": 4}')),
    *_of("consensus", "U4", ("table[lowest:, lowest:].tobytes()", "table[2:, 2:].tobytes()")),
    *_of("consensus", "U5", ("other = paths if same_paths else paths[:, ::-1]", "other = paths[:, ::-1] if same_paths else paths")),
    *_of("consensus", "U6", ("rule = StableConsensus(same_leader=same_leader)", "rule = StableConsensus(same_leader=False)")),
    *_of("copying", "U7", ("VOTER = Copying(theta=1.0, sigma=0.0, lam=0.0)", "VOTER = Copying(theta=1.0, sigma=0.0, lam=0.1)")),
    *_of("copying", "U8", ("_U8_RULE = Copying(theta=1.45, sigma=0.53, lam=0.0)", "_U8_RULE = Copying(theta=1.45, sigma=0.53, lam=0.05)")),
    *_of("votes", "U9", ("vote_accuracy(hard, 1 if copies else 801)", "vote_accuracy(hard, 1)")),
    *_of("figures", "U10", ("if overhead is not None:", "if overhead is None:")),
    *_of("figures", "U11", ("6 * sum(x * (upto[-1] - u)", "6 * sum(x * upto[-1]")),
    *_of("figures", "U12", ('world={"questions": 100}', 'world={"questions": 200}')),
    *_of(
        "votes",
        "U13",
        ("accuracy = _after_copying if copied else weighted_accuracy", "accuracy = weighted_accuracy if copied else _after_copying"),
    ),
    *_of("best_stopping", "U14", ("    if sees_truth:\n", "    if not sees_truth:\n")),
    *_of("jury", "J1", ('world={"correlation": None, "base": 0.775}', 'world={"correlation": 0.01, "base": 0.775}')),
    *_of("jury", "J2", ('_GOOD = {"tie": Fraction(7, 10)', '_GOOD = {"tie": Fraction(4, 10)')),
    *_of("jury", "J3", ("_three_class_table() if classes == 3", "_three_class_table() if classes == 2")),
]
"""Faults in what makes an assumption hold, or be needed."""
