/** A real server with the Redis gate, and a user who decides by POST /grant/{user code} or /reject/{user code}. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTestService } from '../../../server/test/rig/service.ts'
import { startEngines } from '../../../tools/engines.ts'
import type { Service } from './real-service.ts'

export async function startServiceWithUser(): Promise<{ readonly service: Service; stop(): Promise<void> }> {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  const started = await startTestService({ POLL_INTERVAL: '1', REDIS_URL: process.env.REDIS_URL ?? redisUrl })
  const user = createServer(async ({ url = '' }, response) => {
    const [, decision, userCode = ''] = url.split('/')
    response.end(await (decision === 'grant' ? started.grant(userCode) : started.reject(userCode)))
  }).listen(0, '127.0.0.1')
  await once(user, 'listening')
  return {
    service: {
      address: started.address,
      appId: started.application.id,
      appSecret: started.application.secret,
      userAddress: `http://127.0.0.1:${(user.address() as AddressInfo).port}`,
    },
    stop: async () => {
      user.closeAllConnections()
      user.close()
      await started.stop()
    },
  }
}
