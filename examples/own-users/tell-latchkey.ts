/**
 * Tells Latchkey at once that a user may do less. Credentials that the user granted lose it within two seconds. What users may do
 * more, Latchkey learns at their next sign-in. The management key needs the scopes users:write and roles:write, for this account only.
 */
export type Less = { readonly disabled: boolean; readonly roles: readonly []; readonly permissions: readonly string[] }

export function tellLatchkey(latchkeyUrl: string, account: string, managementKey: string) {
  const users = `${latchkeyUrl}/manage/1/accounts/${account}/users`

  async function ask(url: string, change?: Less) {
    const body = change && { method: 'PATCH', body: JSON.stringify(change) }
    const headers = { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' }
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(5_000), ...body })
    if (!response.ok) throw new Error(`Latchkey answered ${response.status}: ${await response.text()}`)
    return response.json()
  }

  /** `id`: the `sub` of the statements. */
  return async (id: string, change: Less): Promise<void> => {
    const { items } = await ask(`${users}?external_id=${encodeURIComponent(id)}`)
    // Whoever never signed in at Latchkey has granted nothing there.
    if (items.length > 0) await ask(`${users}/${items[0].id}`, change)
  }
}
