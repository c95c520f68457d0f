/**
 * Login screen: shows the code, the address of the page, and a line that counts down. Writes to standard error only, so
 * that standard output carries nothing but the outcome.
 */
import { clearLine, cursorTo } from 'node:readline'
import { styleText } from 'node:util'
import type { DeviceSession } from '@latchkey/sdk'
import { renderUnicodeCompact } from 'uqr'
import { openBrowser } from './open-browser.ts'

export type Shown = Pick<DeviceSession, 'displayCode' | 'verificationUrl' | 'expiresAt' | 'remaining'>

export type LoginScreen = { close(): void }

const [ENTER, LINE_FEED, CTRL_C] = ['\r', '\n', '\u0003']

const { stdin, stderr } = process

/** Calls `interrupt` on Ctrl-C: in raw mode the terminal sends no SIGINT for it. */
export function openLoginScreen(session: Shown, { qr = false }: { qr?: boolean }, interrupt: () => void): LoginScreen {
  const { displayCode, verificationUrl, expiresAt } = session
  const until = new Date(expiresAt).toTimeString().slice(0, 5)
  const code = styleText('bold', displayCode, { stream: stderr })
  say(`\n  Your code   ${code}        valid until ${until}\n`)
  say(`  1  Open ${verificationUrl} and sign in to your account`)
  say('  2  Enter the code, check the request, and decide\n')
  if (qr) showQr()
  // Without a terminal on both sides there is no user to press a key, and no browser to open.
  const keys = stdin.isTTY && stderr.isTTY
  if (keys) say('  Press Enter to open the page in your browser, q to show its QR code.')

  const progress = () => {
    if (!stderr.isTTY) return
    redraw(`  Waiting for your decision, ${inMinutes(session.remaining())} left`)
  }
  const onKey = (data: Buffer) => {
    for (const key of data.toString()) {
      if (key === CTRL_C) return interrupt()
      if (key === ENTER || key === LINE_FEED) openBrowser(verificationUrl, above)
      if (key === 'q') showQr()
    }
    progress()
  }
  if (keys) stdin.setRawMode(true).resume().on('data', onKey)
  if (!stderr.isTTY) say(`  Waiting for your decision, until ${until}.`)
  progress()
  const ticking = setInterval(progress, 1_000)

  return {
    close: () => {
      clearInterval(ticking)
      if (stderr.isTTY) redraw('')
      if (keys) stdin.off('data', onKey).pause().setRawMode(false)
    },
  }

  /**
   * The QR code holds the address of the page without the code: phishers could send a picture with the code to their
   * victims.
   */
  function showQr(): void {
    above(`\n${renderUnicodeCompact(verificationUrl).replace(/^/gm, '  ')}\n`)
  }

  /** Prints above the countdown line. */
  function above(text: string): void {
    if (stderr.isTTY) redraw('')
    say(text)
  }
}

function say(text: string): void {
  stderr.write(`${text}\n`)
}

function redraw(text: string): void {
  cursorTo(stderr, 0)
  clearLine(stderr, 0)
  stderr.write(text)
}

function inMinutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
