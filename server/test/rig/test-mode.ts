/** Test mode, switched on and off as the developer console does it. */
import { endTestMode, startTestMode } from '../../src/flows/applications/test-mode.ts'
import type { MadeApplication } from './make.ts'
import type { TestService } from './service.ts'

/** The test secret. */
export async function switchTestModeOn(
  service: TestService,
  { id }: MadeApplication,
  by: { readonly id: string } = service.user,
): Promise<string> {
  const result = await startTestMode(service.context, by.id, id)
  if (result.outcome !== 'started') throw new Error(`test mode was not switched on: ${result.outcome}`)
  await service.context.applications.refresh()
  return result.secret
}

export async function switchTestModeOff(
  service: TestService,
  { id }: MadeApplication,
  by: { readonly id: string } = service.user,
): Promise<void> {
  const { outcome } = await endTestMode(service.context, by.id, id)
  if (outcome !== 'ended') throw new Error(`test mode was not switched off: ${outcome}`)
  await service.context.applications.refresh()
}
