/** Honest users who sign in while others stuff: each once, by a known browser, a passkey or a new browser. */
import { randomInt } from 'node:crypto'
import { BROWSER } from '../../src/http/web/cookies.ts'
import type { Mailbox } from '../rig/network/mailbox.ts'
import { unescapeHtml, Web } from '../rig/web.ts'
import { type Honest, PASSWORD } from './stuffing-harness.ts'

export type HonestOutcome = {
  readonly how: Honest['how']
  /** `confirmed`: after a mail. */
  readonly outcome: 'in' | 'confirmed' | `refused ${number}` | 'without mail'
  /** From sending the password or passkey to the answer. */
  readonly ms: number
}

/** Far longer than on a quiet machine, where it takes a few seconds. */
const MAIL_MS = 180_000

export async function signInHonestly(
  address: string,
  publicHost: string,
  mailbox: Mailbox,
  user: Honest,
): Promise<HonestOutcome> {
  // Homes: each in a network of its own, none of the attacker's.
  const from = `198.${randomInt(18, 20)}.${randomInt(256)}.9`
  const web = new Web(address, `${user.slug}.${publicHost}`, { 'x-forwarded-for': from })
  if (user.browser) web.cookies.set(BROWSER, user.browser)
  const form = user.passkey ? await answerOf(web, user.passkey) : { email: user.email, password: PASSWORD, next: '/' }
  const started = performance.now()
  const page = await web.send('POST', user.passkey ? '/sign-in/passkey' : '/sign-in', form)
  const about = { how: user.how, ms: performance.now() - started }
  if (page.status === 303 && page.location === '/') return { ...about, outcome: 'in' }
  if (page.status !== 200) return { ...about, outcome: `refused ${page.status}` }
  const mail = await mailbox.waitFor(({ to }) => to === user.email, MAIL_MS).catch(() => null)
  if (!mail) return { ...about, outcome: 'without mail' }
  const { pathname, search } = new URL(/https?:\/\/\S+\/link\?token=[\w-]+/.exec(mail.text)?.[0] ?? '')
  await web.get(`${pathname}${search}`)
  await web.submit('/link/sign-in')
  return { ...about, outcome: web.cookies.has('__Host-session') ? 'confirmed' : `refused ${web.last?.status ?? 0}` }
}

async function answerOf(web: Web, passkey: NonNullable<Honest['passkey']>): Promise<Record<string, string>> {
  const { text } = await web.get('/sign-in')
  const options = JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(text)?.[1] ?? ''))
  return { answer: passkey.get(options, web.origin), next: '/' }
}
