/** The three gates as configurations: each has to fulfil the same contract. */
import { engineUrl } from './database.ts'

export const gates: readonly { name: string; environment(): Record<string, string> }[] = [
  { name: 'the gate in process', environment: () => ({}) },
  { name: 'the gate on Redis', environment: () => ({ REDIS_URL: engineUrl('REDIS_URL') }) },
  { name: 'the gate on a Redis cluster', environment: () => ({ REDIS_URL: engineUrl('REDIS_CLUSTER_URL') }) },
]
