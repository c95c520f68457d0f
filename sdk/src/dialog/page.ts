/** The parts of a browser's window that the dialog uses. It touches nothing that is not listed here. */
import { LatchkeyError } from '../errors.ts'

/** The dialog's window, as the page that opened it sees it. */
export interface DialogWindow {
  readonly closed: boolean
  location: { readonly href: string; replace(address: string): void }
  close(): void
  focus(): void
}

export interface PageEvent {
  readonly data: unknown
  readonly origin: string
  readonly source: unknown
  /** For `pageshow`: the page was restored from the back/forward cache. */
  readonly persisted: boolean
}

type Listen = (type: string, listener: (event: PageEvent) => void) => void

export interface Channel {
  postMessage(message: unknown): void
  addEventListener: Listen
  close(): void
}

export interface Page {
  readonly location: { readonly href: string; readonly origin: string; assign(address: string): void }
  readonly history: { readonly state: unknown; replaceState(state: unknown, unused: string, address: string): void }
  readonly sessionStorage: {
    getItem(key: string): string | null
    setItem(key: string, value: string): void
    removeItem(key: string): void
  }
  readonly opener: { postMessage(message: unknown, targetOrigin: string): void } | null
  readonly screenX: number
  readonly screenY: number
  readonly outerWidth: number
  readonly outerHeight: number
  readonly BroadcastChannel: new (name: string) => Channel
  open(address: string, name: string, features: string): DialogWindow | null
  close(): void
  addEventListener: Listen
  removeEventListener: Listen
}

/** Returns this page. Throws `invalid_request` outside a browser. */
export function currentPage(): Page {
  if ('document' in globalThis) return globalThis as unknown as Page
  throw new LatchkeyError('invalid_request', {
    message: 'The dialog opens in a browser, and this is none. On a server, use dialog.exchange.',
  })
}
