/** The page: opens the dialog on a click, then lists the orders from the API in examples/api. */
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
    ? 'You rejected the request.'
    : /** @type {Error} */ (error).message
  status.textContent = said
  // The user can always start again, which is necessary after a revocation.
  connect.hidden = false
}

connect.addEventListener('click', () => {
  // Before the first await: otherwise the browser blocks the window.
  const opened = client.dialog.open({ redirectUri: `${location.origin}/connected`, scope: ['orders:read'] })
  opened.then(show).catch(explain)
})
disconnect.addEventListener('click', async () => {
  try {
    await client.revoke()
    await show()
    status.textContent = 'Disconnected. The access is revoked.'
  } catch (error) {
    explain(error)
  }
})

status.textContent = 'Not connected.'
show().catch(explain)
