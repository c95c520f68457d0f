/**
 * Decision bus: tells the other processes by Redis publish/subscribe which code was decided, so that a held poll is
 * answered at once. An announcement may be lost or repeated, because it only ever leads to a read; without Redis, and
 * when one is lost, flows/device/decision-feed.ts brings the decision within a second.
 */
import { Cluster, type Redis } from 'ioredis'
import type { RedisLink } from './redis-link.ts'

export type DecisionBus = {
  /** Never fails. */
  announce(codeId: string): Promise<void>
  /** Called with decisions of all processes, including this one. Only a server listens. */
  listen(onDecision: (codeId: string) => void): void
  close(): void
}

const CHANNEL = 'decided'

export function createDecisionBus(link: RedisLink | null): DecisionBus {
  let listener = (_codeId: string): void => {}
  let subscriber: Redis | null = null
  const onMessage = (_channel: string, codeId: string) => listener(codeId)

  return {
    announce: async (codeId) => {
      listener(codeId)
      if (!link?.reachable()) return
      const { redis } = link
      const published = redis instanceof Cluster ? redis.spublish(CHANNEL, codeId) : redis.publish(CHANNEL, codeId)
      await published.then(link.succeeded, (error: Error) => link.failed(error.message))
    },
    listen: (onDecision) => {
      listener = onDecision
      if (!link) return
      const { redis } = link
      /** The user of Redis lacks the command or the channel: deploy/redis/latchkey.conf. */
      const reportRefusal = (error: Error) => {
        if (error.name === 'ReplyError') link.failed(error.message)
      }
      if (redis instanceof Cluster) {
        // Sharded: a message stays on the node of its channel instead of going to all nodes. The cluster's client keeps
        // a connection of its own for it, and subscribes again after a failover.
        redis.on('smessage', onMessage)
        const subscribe = () => void redis.ssubscribe(CHANNEL).catch(reportRefusal)
        if (redis.status === 'ready') subscribe()
        else redis.once('ready', subscribe)
        return
      }
      // A connection that subscribes can do nothing else. It waits for Redis however long it is away.
      subscriber = redis.duplicate({ commandTimeout: undefined, enableOfflineQueue: true, maxRetriesPerRequest: null })
      // The other connection reports that Redis is away.
      subscriber.on('error', () => {})
      subscriber.on('message', onMessage)
      subscriber.subscribe(CHANNEL).catch(reportRefusal)
      // The subscriber sends nothing, so it does not notice that its server is gone. It reconnects after the command
      // connection has reconnected.
      let lost = false
      redis.on('close', () => {
        lost = true
      })
      redis.on('ready', () => {
        if (lost) subscriber?.disconnect(true)
        lost = false
      })
    },
    close: () => subscriber?.disconnect(),
  }
}
