/**
 * An API that requires a valid credential with the right scope, issued to any application in any flow. It is registered as a resource server:
 * its own id and secret allow it to introspect credentials.
 */
import { createVerifier } from '@latchkey/sdk'
import { credentialOf, requireAuth } from '@latchkey/sdk/express'
import express from 'express'

const port = Number(process.env.PORT ?? 4001)
/** Origin of the page that may call the API from a browser: examples/web-app. */
const pageOrigin = process.env.PAGE_ORIGIN ?? 'http://127.0.0.1:4002'
const verifier = createVerifier({
  baseUrl: process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080',
  resourceId: process.env.LATCHKEY_RESOURCE_ID ?? '',
  resourceSecret: process.env.LATCHKEY_RESOURCE_SECRET ?? '',
})

type Order = { readonly id: number; readonly what: string }
const orders = new Map<string, Order[]>()
function ordersOf(account: string): Order[] {
  const known = orders.get(account) ?? [{ id: 1, what: 'two bottles of ink' }]
  orders.set(account, known)
  return known
}

const app = express()

app.use((request, response, next) => {
  response.set({ 'access-control-allow-origin': pageOrigin, vary: 'origin' })
  if (request.method !== 'OPTIONS') return next()
  response.set({ 'access-control-allow-headers': 'authorization, content-type' }).sendStatus(204)
})

app.get('/orders', requireAuth(verifier, { scope: 'orders:read' }), (request, response) => {
  const { account } = credentialOf(request)
  response.json({ account, orders: ordersOf(account) })
})

app.post('/orders', requireAuth(verifier, { scope: 'orders:write' }), express.json(), (request, response) => {
  const list = ordersOf(credentialOf(request).account)
  const order = { id: list.length + 1, what: String(request.body?.what ?? 'nothing in particular') }
  list.push(order)
  response.status(201).json(order)
})

app.listen(port, '127.0.0.1', () => console.log(`The API is at http://127.0.0.1:${port}/orders`))
