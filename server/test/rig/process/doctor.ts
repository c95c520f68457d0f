/** A correct set-up for `latchkey doctor`, with one thing changed. */
import { expect } from 'vitest'
import { sealBatch } from '../../../src/flows/audit/seal.ts'
import { engineUrl } from '../engines/database.ts'
import { makeEnvironment } from '../make.ts'
import { startMailbox } from '../network/mailbox.ts'
import { startTestService, type TestService } from '../service.ts'
import { runCommand } from './command.ts'

export type Finding = {
  readonly check: string
  readonly severity: string
  readonly what: string
  readonly remedy: string | null
}

export type Examined = {
  readonly status: number
  readonly severity: string
  readonly findings: readonly Finding[]
  found(check: string): readonly Finding[]
}

/** Overrides of the environment. */
type Changed = Readonly<Record<string, string>>

export type SetUp = {
  readonly service: TestService
  environment(changed?: Changed): Record<string, string>
  doctor(changed?: Changed): Promise<Examined>
  stop(): Promise<void>
}

/** An address on this machine without a listener. */
export const NOBODY = '127.0.0.1:1'

export async function startSetUp(): Promise<SetUp> {
  const mailbox = await startMailbox()
  const service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { clock: true })
  while ((await sealBatch(service.context)) > 0);
  const environment = (changed: Changed = {}) =>
    makeEnvironment({
      DATABASE_URL: service.database.url,
      REDIS_URL: engineUrl('REDIS_URL'),
      PUBLIC_URL: service.config.publicUrl,
      PORT: String(service.config.port),
      SMTP_URL: mailbox.url,
      ...changed,
    })
  return {
    service,
    environment,
    doctor: async (changed) => {
      const { status, stdout, stderr } = await runCommand(['doctor', '--json'], { environment: environment(changed) })
      expect(stderr).toBe('')
      const { severity, findings } = JSON.parse(stdout) as Pick<Examined, 'severity' | 'findings'>
      return { status, severity, findings, found: (check) => findings.filter((each) => each.check === check) }
    },
    stop: async () => {
      await service.stop()
      await mailbox.stop()
    },
  }
}
