/** HAProxy is reloaded while devices poll, request codes and credentials are verified: no request fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../rig/cells.ts'
import { Device } from '../../rig/device.ts'
import type { OpenLoad } from '../../scale/open-load.ts'
import type { Harness } from './harness.ts'
import { underPolls } from './waiting-codes.ts'

const RELOADS = 5
const PAUSE_MS = 700
const LANES = 4

export async function reloadProxy(harness: Harness, polls: OpenLoad) {
  const device = new Device(harness.address, harness.application)
  let [over, requests] = [false, 0]
  const wrong: string[] = []
  const request = async () => {
    while (!over) {
      const answer = await device.request().catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
      requests += 1
      if (typeof answer === 'string') wrong.push(`a code request failed: ${answer}`)
      else if (answer.status !== 200) wrong.push(`a code request was answered ${answer.status} ${answer.text}`)
      await sleep(20)
    }
  }
  // The master stays, and every reload has a worker of its own.
  const workers = new Set(harness.proxyPids())
  const { failed } = await underPolls(polls, async () => {
    const lanes = Array.from({ length: LANES }, request)
    for (let reload = 0; reload < RELOADS; reload += 1) {
      await sleep(PAUSE_MS)
      harness.reloadProxy()
      await until(async () => harness.proxyPids().some((pid) => !workers.has(pid)))
      for (const pid of harness.proxyPids()) workers.add(pid)
    }
    await sleep(PAUSE_MS)
    over = true
    await Promise.all(lanes)
  })
  const failures = [...failed, ...wrong]
  return {
    step: 'HAProxy reloaded',
    reloads: RELOADS,
    code_requests: requests,
    failed: failures.length,
    problems: [...new Set(failures)].slice(0, 10),
    missed: failures.length > 0 ? ['a request failed while HAProxy was reloaded'] : [],
  }
}
