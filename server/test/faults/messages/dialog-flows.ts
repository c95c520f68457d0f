/** Flows of the dialog: opening it, the user's decision, and the exchange of the authorization code. */
import type { WireAnswer } from '../../rig/device.ts'
import { type Allowed, allow, DialogWindow, dialogAddress, exchange, makePkce, openQuestion } from '../../rig/dialog.ts'
import { formFields, type Page } from '../../rig/web.ts'
import { checkAccess } from './credential-flows.ts'
import { type After, attempt, countRows, expectEqual, type Flow, isServed, type Problem, untilServed } from './flow.ts'
import type { Harness } from './harness.ts'

const challengeOf = ({ challenge }: { challenge: string }) => ({
  code_challenge: challenge,
  code_challenge_method: 'S256',
})

/** Exchanges the code until it is served, uses the tokens, and tries to exchange it once more. */
async function exchangeOnce(
  harness: Harness,
  given: Pick<Allowed, 'code' | 'pkce'>,
  heard: WireAnswer | null,
  { killed }: After,
): Promise<readonly Problem[]> {
  const { service, dialogApplication } = harness
  const request = () => exchange(service, dialogApplication, given)
  // The lease of an exchange that died with its process ends.
  const answer = await untilServed(heard, request, harness.endLeases)
  if (answer.status !== 200) return [{ kind: 'lost', text: `the exchange was answered ${answer.text}` }]
  const problems = await checkAccess(harness, answer.body.access_token, true)
  if (killed) return problems
  const again = await untilServed(null, request)
  return again.status === 200 ? [...problems, { kind: 'double', text: 'a code was exchanged twice' }] : problems
}

async function grantsOfDialog(harness: Harness, state: string): Promise<readonly Problem[]> {
  const sql = 'from grants g join dialogs d on d.id = g.dialog_id where d.state = $1'
  return countRows(harness, 'grants of a dialog', 1, sql, [state])
}

let dialogs = 0
const newState = () => {
  dialogs += 1
  return `dialog-${dialogs}`
}

const authorize: Flow = {
  name: 'dialog-open',
  prepare: async (harness) => {
    const { service, dialogApplication } = harness
    const [pkce, state] = [makePkce(), newState()]
    const wish = { application: dialogApplication, parameters: { ...challengeOf(pkce), state } }
    const window = await new DialogWindow(service).signIn(service.user)
    const open = async () => (await window.go(dialogAddress(service, wish))).page
    const choose = () => window.submit(window.base, '/dialog', { typed: service.account.slug })
    const openAndChoose = async () => {
      const opened = await open()
      return isServed(opened) ? (await choose()).page : opened
    }
    let heard: Page | null = null
    return {
      act: async () => {
        heard = await attempt(openAndChoose)
      },
      finish: async (after) => {
        // The user follows the application's link again.
        await untilServed(heard, openAndChoose)
        const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
        const code = left?.searchParams.get('code') ?? ''
        return [
          ...(await exchangeOnce(harness, { code, pkce }, null, after)),
          ...(await grantsOfDialog(harness, state)),
        ]
      },
    }
  },
}

const decide: Flow = {
  name: 'dialog-decide',
  prepare: async (harness) => {
    const [pkce, state] = [makePkce(), newState()]
    const parameters = { ...challengeOf(pkce), state }
    const { window } = await openQuestion(harness.service, { application: harness.dialogApplication, parameters })
    const form = { ...formFields(window.account.last?.text ?? '', '/dialog/decision'), decision: 'allow' }
    const send = () => window.account.send('POST', '/dialog/decision', form)
    let heard: Awaited<ReturnType<typeof send>> | null = null
    return {
      act: async () => {
        heard = await attempt(send)
      },
      finish: async (after) => {
        // The browser repeats the form.
        const page = await untilServed(heard, send)
        const code = page.location === null ? null : new URL(page.location).searchParams.get('code')
        if (code === null) return [{ kind: 'lost', text: `after a yes: ${page.status} ${page.location}` }]
        return [
          ...(await exchangeOnce(harness, { code, pkce }, null, after)),
          ...(await grantsOfDialog(harness, state)),
        ]
      },
    }
  },
}

const exchangeFlow: Flow = {
  name: 'dialog-exchange',
  prepare: async (harness) => {
    const { service, dialogApplication } = harness
    const state = newState()
    const given = await allow(service, { application: dialogApplication, parameters: { state } })
    let heard: WireAnswer | null = null
    return {
      act: async () => {
        heard = await attempt(() => exchange(service, dialogApplication, given))
      },
      finish: async (after) => [
        ...expectEqual('the state', given.returned.searchParams.get('state'), state),
        ...(await exchangeOnce(harness, given, heard, after)),
        ...(await grantsOfDialog(harness, state)),
      ],
    }
  },
}

export const dialogFlows: readonly Flow[] = [authorize, decide, exchangeFlow]
