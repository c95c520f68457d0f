/** A process that may open no further file or socket (EMFILE): connections beyond it are closed, all others are served. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Device, post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { openRawConnection } from '../../rig/network/raw-connection.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const LIMIT = 96

let service: TestService
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { listen: false })
})
afterAll(() => service.stop())

it('F44: without a free descriptor, connections of before are served and new ones end; when some are free again, so are new ones', async () => {
  const environment = { DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL'), OVERLOAD_DELAY: '50' }
  const server = await startServerProcess(environment, { by: ['prlimit', `--nofile=${LIMIT}:${LIMIT}`] })
  const device = new Device(server.address, service.application)
  const { device_code } = await device.code()
  const form = `${new URLSearchParams({ ...device.credentials, device_code })}`
  const kept = openRawConnection(server.address)
  const request = Buffer.from(
    `POST /auth/oauth/device/polling HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
  )
  expect((await kept.send(request)).status).toBe(400)

  const { hostname, port } = new URL(server.address)
  const ended = new Set<Socket>()
  const idle = Array.from({ length: 3 * LIMIT }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.on('close', () => ended.add(socket))
    return socket
  })
  await expect.poll(() => ended.size, { timeout: 20_000 }).toBeGreaterThan(LIMIT)
  for (let round = 0; round < 20; round += 1) {
    expect((await kept.send(request)).status, 'a poll over a kept connection').toBe(400)
    await sleep(50)
  }
  for (const socket of idle) socket.destroy()

  const answered = () =>
    post(server.address, '/health/ready', { method: 'GET' }).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(answered, { timeout: 30_000 }).toBe(200)
  const { device_code: later, user_code } = await device.code()
  expect(await service.grant(user_code)).toBe('granted')
  expect((await device.poll(later)).status).toBe(200)
  kept.close()
  await server.kill('SIGTERM')
  expect(server.log()).not.toContain('"event":"unexpected"')
})
