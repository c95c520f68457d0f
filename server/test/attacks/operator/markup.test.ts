/** AD-01: no text that others wrote is markup in the operators' console. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isName } from '../../../src/core/applications/name.ts'
import { openLog } from '../../rig/audit.ts'
import { OperatorConsole, operatorPages } from '../../rig/scenes/operator-console.ts'
import type { TestService } from '../../rig/service.ts'
import { sized } from '../../rig/size.ts'
import { unescapeHtml } from '../../rig/web.ts'
import { markupCorpus } from '../web/markup-corpus.ts'

let scene: OperatorConsole
let service: TestService
beforeAll(async () => {
  scene = await OperatorConsole.start()
  service = scene.service
  // The page of the log says until when it is sealed, once it is.
  const log = openLog(service.database, service.config.keys)
  await log.seal()
  await log.close()
})
afterAll(() => service.stop())

/** Every tag with the names of its attributes; values are always in double quotes and may contain `>`. */
const markupOf = (html: string) =>
  (html.match(/<[a-z!/?](?:"[^"]*"|[^>"])*>/gi) ?? []).join('').replace(/"[^"]*"/g, '""')
/** Where the markup of pages differs, from there on. */
const differing = (shown: readonly string[], usual: readonly string[]) =>
  shown.map(markupOf).flatMap((markup, place) => {
    const [one, other] = [markup, usual[place] ?? '']
    const at = Array.from(one).findIndex((character, index) => character !== other[index])
    return one === other ? [] : [`${place}: ${one.slice(at - 60, at + 80)} ... ${other.slice(at - 60, at + 80)}`]
  })
const texts = markupCorpus.filter((text) => /[<>"&']/.test(text) && text.length <= 100)
const some = (count: number) => texts.filter((_text, at) => at % Math.ceil(texts.length / count) === 0)
/** Written into the rows directly, although no flow would write it. */
async function writeEverywhere(text: string): Promise<void> {
  const { database } = service
  const { id } = scene.application
  // All applications, because they are sorted by name.
  await database.query('update applications set name = $1, publisher = $1', [text])
  await database.query('update accounts set name = $2 where id = $1', [service.account.id, text])
  await database.query("update scopes set title = $1 where name = 'orders:read'", [text])
  await database.query('update review_decisions set words = $1', [text])
  await database.query('update application_proposals set name = $1', [text])
  await database.query('update operator_changes set email = $1', [text])
  await database.query('alter table management_keys drop constraint if exists management_keys_label_check')
  await database.query('update management_keys set label = $1', [text])
  await database.query(
    'update reviews set appeal = $1, appealed_at = now(), appealed_by = $2, closed_at = null where application_id = $3',
    [text, service.user.id, id],
  )
  // The log is append-only; this disables its triggers.
  await database.query('alter table audit_events disable trigger user')
  await database.query('update audit_events set detail = $2 where application_id = $1', [
    id,
    JSON.stringify({ reason: text, [text]: text }),
  ])
  await database.query('alter table audit_events enable trigger user')
}

it('AD-01: names, appeals, operators’ texts and all other values of rows are text on every page', async () => {
  const looking = await scene.signIn()
  await service.database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, dialog_id, key_id, created_at)
     select 'grt_00000000000000000001', gen_random_uuid(), account_id, id, $2, 'token_set', '{}', gen_random_uuid(), 1, now()
     from users where id = $1`,
    [scene.operator.id, scene.application.id],
  )
  const looked = operatorPages.filter(({ method, path }) => method === 'GET' && path !== '/operator/application/logo')
  const pages = async (text: string) => {
    await writeEverywhere(text)
    const shown: string[] = []
    for (const route of looked) {
      const page = await looking.send('GET', scene.addressOf(route))
      expect([route.path, page.status]).toEqual([route.path, 200])
      expect(unescapeHtml(page.text), `it is on ${route.path}`).toContain(text)
      // Only the words of relative times may differ between pages.
      shown.push(page.text)
    }
    return shown
  }
  const usual = (await pages('Harmless')).map(markupOf)
  for (const text of some(sized(40, 12))) {
    const shown = await pages(text)
    expect([text, ...differing(shown, usual)]).toEqual([text])
    if (/[<"&]/.test(text)) expect([text, shown.filter((html) => html.includes(text))]).toEqual([text, []])
  }
})

it('AD-01: values of forms and of the query are never markup', async () => {
  const looking = await scene.signIn()
  await writeEverywhere('Harmless')
  await service.database.query('delete from application_vettings')
  await service.database.query('delete from application_proposals')
  const answers = async (text: string) => {
    const shown: string[] = []
    for (const route of operatorPages.filter(({ method }) => method === 'POST')) {
      // Nothing is confirmed or withdrawn, so that all pages have the same content.
      const form = (await scene.formFor(scene.operator, route, 'dec_000000000000')) ?? {}
      const { token = '' } = form
      const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, form[name] ?? '']))
      const free = Object.fromEntries(Object.keys(form).map((name) => [name, text]))
      const page = await looking.send('POST', route.path, { ...free, [text]: text, ...bound, token })
      shown.push(`${page.status} ${page.text}`)
    }
    for (const path of ['accounts', 'applications', 'search', 'reviews'].map((each) => `/operator/${each}`)) {
      const query = new URLSearchParams({ q: text, after: text, filter: text, notice: text })
      shown.push((await looking.send('GET', `${path}?${query}`)).text)
    }
    return shown
  }
  const titled = async (text: string) =>
    service.database.query("update scopes set title = 'Harmless' where title = $1", [text])
  const usual = (await answers('No harm')).map(markupOf)
  await titled('No harm')
  for (const text of some(sized(20, 8)).filter(isName)) {
    const shown = await answers(text)
    await titled(text)
    await writeEverywhere('Harmless')
    expect([text, ...differing(shown, usual)]).toEqual([text])
  }
})
