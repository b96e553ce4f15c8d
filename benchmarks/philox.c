/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): count the numbers below a bound among 4 * blocks numbers. */
#include <stdint.h>

int64_t count_below(int64_t blocks, uint32_t key0, uint32_t key1, uint32_t below)
{
    int64_t found = 0;
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t c0 = (uint32_t)i, c1 = (uint32_t)((uint64_t)i >> 32), c2 = 0, c3 = 0, k0 = key0, k1 = key1;
        for (int round = 0; round < 10; round++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        found += (c0 < below) + (c1 < below) + (c2 < below) + (c3 < below);
    }
    return found;
}
