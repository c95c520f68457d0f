/**
 * Networks for clients that must not share a budget with any other client. In sequence, because random ones meet: among a
 * hundred of 65,536, two are equal in one run of fourteen. From a random start, because processes share a Redis.
 */
import { randomInt } from 'node:crypto'

const FIRST = 32
const NETWORKS = 64 * 2 ** 16

let next = randomInt(NETWORKS)

/** The first three numbers of an IPv4 /24. */
export function freshNetwork(): string {
  next = (next + 1) % NETWORKS
  return [FIRST + (next >> 16), (next >> 8) & 255, next & 255].join('.')
}
