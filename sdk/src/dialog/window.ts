/**
 * Popup window of the dialog, and the way its response gets back. The response is sent twice, by BroadcastChannel and
 * by a message to the opener, because some pages lose one of them: a strict opener policy cuts off the opener, and a
 * page in a frame loses the channel. The first to arrive counts.
 */
import type { Clock } from '../clock.ts'
import { LatchkeyError } from '../errors.ts'
import type { Attempt, Returned } from './attempt.ts'
import type { Channel, DialogWindow, Page, PageEvent } from './page.ts'

const [WIDTH, HEIGHT] = [480, 640]

/** Call it directly in the click handler: later, browsers treat the window as an advertisement and block it. */
export function openWindow(page: Page, name: string): DialogWindow | null {
  const left = Math.max(0, page.screenX + (page.outerWidth - WIDTH) / 2)
  const top = Math.max(0, page.screenY + (page.outerHeight - HEIGHT) / 2)
  return page.open('', name, `popup,width=${WIDTH},height=${HEIGHT},left=${left | 0},top=${top | 0}`)
}

const CHECK_EVERY_MS = 250
/** Wait after the window has closed: its response may still arrive. */
const GRACE_MS = 5_000
/**
 * Wait if the window was never seen at the service: it may be open but cut off from this page, and then looks closed.
 */
const UNSEEN_GRACE_MS = 180_000
/**
 * Checks that must find the window at the service before it counts as seen. A browser that is about to cut the window
 * off may show it there for a moment.
 */
const SEEN_AFTER = 4

/** Resolves with the dialog's response parameters. Throws `dialog_closed`, `state_mismatch` or the reason of the signal. */
export async function awaitAnswer(
  page: Page,
  popup: DialogWindow,
  { state }: Attempt,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Returned> {
  const channel = openChannel(page, state)
  const over = new AbortController()
  const end = () => over.abort(signal.reason)
  signal.addEventListener('abort', end)
  let receive: (event: PageEvent) => void = () => {}
  const received = new Promise<Returned>((resolve, reject) => {
    receive = (event) => {
      const returned = readMessage(event.data)
      if (!returned) return
      if (returned.get('state') === state) return resolve(returned)
      // A response to another dialog is ignored, unless it comes from this dialog's window.
      if (event.source === popup) reject(new LatchkeyError('state_mismatch'))
    }
  })
  const receiveFromOpener = (event: PageEvent) => {
    if (event.origin === page.location.origin) receive(event)
  }
  channel.addEventListener('message', receive)
  page.addEventListener('message', receiveFromOpener)
  try {
    const returned = await Promise.race([received, watch(popup, clock, over.signal)])
    channel.postMessage(RECEIVED)
    return returned
  } finally {
    over.abort()
    signal.removeEventListener('abort', end)
    page.removeEventListener('message', receiveFromOpener)
    channel.close()
  }
}

/** Throws `dialog_closed` when the window is gone, or the reason of the signal when it aborts. */
async function watch(popup: DialogWindow, clock: Clock, signal: AbortSignal): Promise<never> {
  let seen = 0
  let goneAt: number | null = null
  for (;;) {
    await clock.sleep(CHECK_EVERY_MS, signal)
    if (!popup.closed) {
      if (isElsewhere(popup)) seen += 1
      goneAt = null
      continue
    }
    goneAt ??= clock.now()
    if (clock.now() - goneAt >= (seen < SEEN_AFTER ? UNSEEN_GRACE_MS : GRACE_MS))
      throw new LatchkeyError('dialog_closed')
  }
}

/** Whether the window shows a page of another origin, which is the service's. */
function isElsewhere(popup: DialogWindow): boolean {
  try {
    return popup.location.href === undefined
  } catch {
    return true
  }
}

const SENT = 'latchkey.dialog.returned'
const RECEIVED = 'latchkey.dialog.received'

function openChannel(page: Page, state: string): Channel {
  return new page.BroadcastChannel(`latchkey.dialog.${state}`)
}

function readMessage(data: unknown): Returned | null {
  const { type, query } = (data ?? {}) as { type?: unknown; query?: unknown }
  return type === SENT && typeof query === 'string' ? new URLSearchParams(query) : null
}

const DELIVERED_WITHIN_MS = 3_000

/**
 * Runs in the popup, on the redirect page: sends the response to the page that opened it. Resolves with whether that
 * page confirmed it.
 */
export async function deliver(page: Page, returned: Returned, clock: Clock): Promise<boolean> {
  const channel = openChannel(page, returned.get('state') ?? '')
  const message = { type: SENT, query: returned.toString() }
  const over = new AbortController()
  const taken = new Promise<boolean>((resolve) => {
    channel.addEventListener('message', ({ data }) => data === RECEIVED && resolve(true))
  })
  channel.postMessage(message)
  page.opener?.postMessage(message, page.location.origin)
  const late = clock.sleep(DELIVERED_WITHIN_MS, over.signal).then(
    () => false,
    () => false,
  )
  const delivered = await Promise.race([taken, late])
  over.abort()
  channel.close()
  return delivered
}
