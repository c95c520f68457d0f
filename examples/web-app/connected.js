/** The page at the redirect URI: passes the response to the page that opened the window, and closes the window. */
import { createClient, sessionStorageStore } from '@latchkey/sdk/browser'

const { baseUrl, appId } = await (await fetch('/settings.json')).json()
const client = createClient({ baseUrl, appId, store: sessionStorageStore() })

const completion = await client.dialog.complete()
if (completion.outcome === 'completed') location.replace(completion.returnTo)
if (completion.outcome === 'undelivered')
  document.body.textContent = 'The page that opened this window is closed. Please start again.'
