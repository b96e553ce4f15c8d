"""Ctrl-C for a command in a process of its own, sent once its checkpoint shows that work is done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["interrupt_once_saved"]

_CODE = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"


def interrupt_once_saved(words: list[str], checkpoint: Path, *, group: bool = False) -> tuple[int, str, str]:
    """Run ``adjourn WORDS --checkpoint CHECKPOINT`` until it has saved something, interrupt it, and wait for its end.

    Parameters
    ----------
    words : list of str
        Without the checkpoint.
    checkpoint : Path
        Where the command saves.
    group : bool
        Whether the whole process group is interrupted, as by a terminal.

    Returns
    -------
    tuple of (int, str, str)
        Exit code, standard output, standard error.
    """
    command = [sys.executable, "-c", _CODE, *words, "--checkpoint", str(checkpoint)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            while process.poll() is None and not (checkpoint.exists() and json.loads(checkpoint.read_text())["done"]):
                time.sleep(0.1)
            if group:
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err
