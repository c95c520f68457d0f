/** The page: opens the dialog in the click, then lists what the guarded API of examples/api has for this user. */
import { createClient, isLatchkeyError, sessionStorageStore } from '@latchkey/sdk/browser'

const { baseUrl, appId, apiUrl } = await (await fetch('/settings.json')).json()
const client = createClient({ baseUrl, appId, store: sessionStorageStore() })

const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'))
const list = /** @type {HTMLElement} */ (document.querySelector('ul'))
const connect = /** @type {HTMLButtonElement} */ (document.querySelector('#connect'))
const disconnect = /** @type {HTMLButtonElement} */ (document.querySelector('#disconnect'))

async function show() {
  const connected = (await client.credentials()) !== null
  connect.hidden = connected
  disconnect.hidden = !connected
  list.replaceChildren()
  if (!connected) return
  const response = await client.fetch(`${apiUrl}/orders`)
  if (!response.ok) throw new Error(`The API answered ${response.status}.`)
  const { account, orders } = await response.json()
  status.textContent = `Orders of ${account}`
  for (const { what } of orders) list.append(Object.assign(document.createElement('li'), { textContent: what }))
}

/** @param {unknown} error */
function explain(error) {
  const said = isLatchkeyError(error, 'access_denied')
    ? 'You said no, and that is fine.'
    : /** @type {Error} */ (error).message
  status.textContent = said
  // Whatever it was, one may start over; only the user can help where the access was taken back.
  connect.hidden = false
}

connect.addEventListener('click', () => {
  // Before anything is awaited: otherwise the browser blocks the window.
  const opened = client.dialog.open({ redirectUri: `${location.origin}/connected`, scope: ['orders:read'] })
  opened.then(show).catch(explain)
})
disconnect.addEventListener('click', async () => {
  try {
    await client.revoke()
    await show()
    status.textContent = 'Disconnected. The access is ended.'
  } catch (error) {
    explain(error)
  }
})

status.textContent = 'Not connected.'
show().catch(explain)
