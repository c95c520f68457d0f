/** A Redis whose master may be lost: three servers watched by three sentinels, or a cluster of three masters and three replicas. */
import type { RedisNode } from './redis-node.ts'

export type ReplicatedRedis = {
  readonly url: string
  masters(): Promise<readonly RedisNode[]>
  /** A master whose replicas miss what is written to it from now on. */
  lag(): Promise<RedisNode>
  /** Resolves when a replica of this master, which is dead, frozen or unseen, was promoted; returns the replica. */
  promotedAfter(master: RedisNode): Promise<RedisNode>
  /** Every server runs, and every replica follows a master. */
  heal(): Promise<void>
  stop(): Promise<void>
}
