/** The dialog on a virtual clock, with a scripted window. Real windows: sdk/test/dialog.test.ts. */
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient, type DialogWindow } from '../../src/index.ts'
import { createFakeService, type FakeService } from '../../src/testing.ts'

const ORIGIN = 'https://app.test'
const redirectUri = `${ORIGIN}/callback`
const failing = (code: string) => expect.objectContaining({ name: 'LatchkeyError', code })

/** An opened window: its address, and whether it is readable. */
class FakeWindow implements DialogWindow {
  closed = false
  elsewhere = false
  location: DialogWindow['location']
  /** Resolves with the address that it is sent to. */
  readonly sent: Promise<string>

  constructor() {
    let send: (address: string) => void
    this.sent = new Promise((resolve) => {
      send = resolve
    })
    const look = () => {
      if (this.elsewhere) throw new Error('SecurityError')
      return 'about:blank'
    }
    this.location = {
      get href() {
        return look()
      },
      replace: (address) => {
        this.elsewhere = true
        send(address)
      },
    }
  }

  close(): void {
    this.closed = true
  }

  focus(): void {}
}

let service: FakeService
let popup: FakeWindow
let kept: Map<string, string>
let page: EventTarget
let left: string[]

beforeEach(() => {
  service = createFakeService({ public: true, redirectUris: [redirectUri], baseUrl: 'https://latchkey.test/' })
  popup = new FakeWindow()
  kept = new Map()
  page = new EventTarget()
  left = []
  goTo(`${ORIGIN}/basket?item=7`)
  vi.stubGlobal('document', {})
  vi.stubGlobal('history', { state: null, replaceState: (_: unknown, __: string, address: string) => goTo(address) })
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  })
  vi.stubGlobal('open', () => popup)
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
})
afterEach(() => vi.unstubAllGlobals())

function goTo(address: string): void {
  vi.stubGlobal('location', { href: address, origin: ORIGIN, assign: (to: string) => left.push(to) })
}

const dialog = () => createClient(service.clientOptions).dialog

/** The page in the window, on its side of the channel. */
function answer(address: string): void {
  const { search, searchParams } = new URL(address)
  const channel = new BroadcastChannel(`latchkey.dialog.${searchParams.get('state')}`)
  channel.postMessage({ type: 'latchkey.dialog.returned', query: search })
  setTimeout(() => channel.close(), 50)
}

/** RFC 7636, section 4.2, with Web Crypto. */
async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const text = btoa(String.fromCharCode(...new Uint8Array(digest)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

describe('opening', () => {
  test('happens before anything is awaited, and leads to the dialog with PKCE and a state', async () => {
    const opened = vi.fn(() => popup)
    vi.stubGlobal('open', opened)
    const waiting = dialog().open({ redirectUri, scope: ['orders:read'] })
    expect(opened).toHaveBeenCalledOnce()
    const address = await popup.sent
    const { searchParams, origin, pathname } = new URL(address)
    expect(origin + pathname).toBe('https://latchkey.test/1/auth/oauth/authorize')
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: service.application.id,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'orders:read',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    answer(service.answerDialog(address, 'allow'))
    expect(await waiting).toMatchObject({ variant: 'token_set', scope: ['orders:read'] })
    expect(popup.closed).toBe(true)
    expect(kept.size).toBe(0)
  })

  test('uses a new state and verifier every time', async () => {
    const seen = new Set<string>()
    for (let round = 0; round < 20; round += 1) {
      popup = new FakeWindow()
      const waiting = dialog().open({ redirectUri, exchange: 'server' })
      const address = await popup.sent
      const { searchParams } = new URL(address)
      answer(service.answerDialog(address, 'allow'))
      const { verifier, code } = await waiting
      expect(await challengeOf(verifier)).toBe(searchParams.get('code_challenge'))
      seen
        .add(verifier)
        .add(code)
        .add(searchParams.get('state') ?? '')
    }
    expect(seen.size).toBe(60)
  })

  test('fails where no window is possible: blocked, aborted, on a server', async () => {
    vi.stubGlobal('open', () => null)
    await expect(dialog().open({ redirectUri })).rejects.toEqual(failing('popup_blocked'))
    await expect(dialog().open({ redirectUri, signal: AbortSignal.abort('why') })).rejects.toBe('why')
    vi.unstubAllGlobals()
    await expect(dialog().open({ redirectUri })).rejects.toEqual(failing('invalid_request'))
  })
})

test('an attempt that is aborted or replaced before it opened is not continued', async () => {
  const over = new AbortController()
  const given = dialog().open({ redirectUri, signal: over.signal })
  over.abort('why')
  await expect(given).rejects.toBe('why')
  expect([popup.closed, popup.elsewhere]).toEqual([true, false])
  const { open } = dialog()
  const [first, here] = [open({ redirectUri }), open({ redirectUri, mode: 'redirect' })]
  here.catch(() => {})
  await expect(first).rejects.toEqual(failing('dialog_closed'))
})

describe('a window that seems closed', () => {
  const watch = async () => {
    let outcome: string | null = null
    void dialog()
      .open({ redirectUri })
      .then(() => 'connected')
      .catch((error: { code: string }) => error.code)
      .then((text) => {
        outcome = text
      })
    await popup.sent
    return { outcome: () => outcome, pass: (ms: number) => service.clock.advance(ms) }
  }

  test('after it was seen at the service is given five seconds', async () => {
    const { outcome, pass } = await watch()
    await pass(60_000)
    popup.close()
    await pass(5_000)
    expect(outcome()).toBeNull()
    await pass(500)
    expect(outcome()).toBe('dialog_closed')
  })

  test('from the start may only be severed: it is given three minutes to answer', async () => {
    const { outcome, pass } = await watch()
    popup.close()
    await pass(179_000)
    expect(outcome()).toBeNull()
    answer(service.answerDialog(await popup.sent, 'allow'))
    await vi.waitFor(() => expect(outcome()).toBe('connected'))
  })

  test('just when it arrived may be severed, too: browsers take a moment to cut the reference', async () => {
    const { outcome, pass } = await watch()
    await pass(600)
    popup.close()
    await pass(60_000)
    expect(outcome()).toBeNull()
  })

  test('and never answers is treated as closed after them', async () => {
    const { outcome, pass } = await watch()
    popup.close()
    await pass(181_000)
    expect(outcome()).toBe('dialog_closed')
  })
})

describe('by redirect', () => {
  async function leave(): Promise<{ address: string; waiting: Promise<unknown> }> {
    const waiting = dialog().open({ redirectUri, mode: 'redirect' })
    await Promise.race([waiting.catch(() => {}), vi.waitFor(() => expect(left).toHaveLength(1))])
    return { address: left[0] ?? '', waiting }
  }

  test('the attempt is stored for the callback page, once', async () => {
    const { address } = await leave()
    const back = service.answerDialog(address, 'allow')
    expect(kept.size).toBe(1)
    goTo(back)
    const resumed = dialog().resumeAfterRedirect()
    expect(location.href).toBe(redirectUri)
    expect(await resumed).toMatchObject({ outcome: 'completed', returnTo: `${ORIGIN}/basket?item=7` })
    expect(kept.size).toBe(0)
    goTo(back)
    await expect(dialog().resumeAfterRedirect()).rejects.toEqual(failing('state_mismatch'))
  })

  test('the back button ends the attempt', async () => {
    const { waiting } = await leave()
    page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    await expect(waiting).rejects.toEqual(failing('dialog_closed'))
  })

  test('fails where the browser has no storage', async () => {
    vi.stubGlobal('sessionStorage', {
      setItem: () => {
        throw new Error('QuotaExceededError')
      },
    })
    await expect((await leave()).waiting).rejects.toEqual(failing('store'))
    expect(left).toEqual([])
  })

  test('a page that was not reached from the dialog has nothing to resume', async () => {
    for (const address of [redirectUri, `${redirectUri}?state=x`, `${redirectUri}?code=x`]) {
      goTo(address)
      expect(await dialog().resumeAfterRedirect()).toBeNull()
      expect(location.href).toBe(address)
    }
  })
})

describe('the exchange', () => {
  async function connect(): Promise<unknown> {
    popup = new FakeWindow()
    const [connected, address] = [dialog().open({ redirectUri }), await popup.sent]
    answer(service.answerDialog(address, 'allow'))
    return connected
  }

  test.each(['network', 'unavailable'] as const)('is retried after %s, a limited number of times', async (fault) => {
    service.fail(fault, 3)
    expect(await connect()).toMatchObject({ variant: 'token_set' })
    expect(service.requests.length).toBe(4)
    service.fail(fault, 40)
    await expect(connect()).rejects.toEqual(failing(fault))
  })

  test('that is refused reveals neither the code nor the verifier, whatever the service answers', async () => {
    const sent: string[] = []
    const fetch = async (_: unknown, init?: RequestInit) => {
      sent.push(...new URLSearchParams(String(init?.body)).values())
      const message = `This is not what we want: ${init?.body} ${sent.join(' ')}`
      return new Response(JSON.stringify({ error: 'invalid_request', message }), { status: 400 })
    }
    const { dialog } = createClient({ ...service.clientOptions, fetch })
    const code = { code: `lkc_${'c'.repeat(44)}`, verifier: 'v'.repeat(43), redirectUri }
    const error = await dialog.exchange(code).catch((caught: unknown) => caught)
    expect(error).toEqual(failing('invalid_request'))
    const shown = [inspect(error), JSON.stringify(error), String((error as Error).stack)].join()
    for (const secret of [code.code, code.verifier]) expect(shown).not.toContain(secret)
  })
})
