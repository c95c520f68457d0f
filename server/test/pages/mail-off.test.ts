/** What pages say of e-mails, with a mail server and without one. */
import { expect, test } from 'vitest'
import { type MessageKey, wordsFor } from '../../src/pages/ui/words.ts'
import { textOf } from '../rig/web.ts'
import { everyPage, makeFrame } from './make.ts'

const { t } = wordsFor('en')
const WAITS = t('notice.mail_waits')

/** Said only where mails are sent. */
const SENT = ['decided.granted_what', 'recover.text', 'recover.sent'] as const

/** Also said where mails wait for a mail server, and then together with that. */
const PROMISED = ['invite.text', 'person.link_text', 'person.invitation_text', 'operator.decide_text'] as const

const textsWith = (mail: boolean) =>
  Object.entries(everyPage(makeFrame({ mail }))).map(([name, html]) => ({ name, text: textOf(html) }))
const saying = (key: (typeof SENT | typeof PROMISED)[number] & MessageKey, mail: boolean) =>
  textsWith(mail).filter(({ text }) => text.includes(t(key)))

test.each(SENT)('%s is said with a mail server, and not without one', (key) => {
  expect(saying(key, true)).not.toEqual([])
  expect(saying(key, false)).toEqual([])
})

test.each(PROMISED)('%s is not said without a mail server unless the page says that mails wait', (key) => {
  expect(saying(key, true)).not.toEqual([])
  const silent = saying(key, false).filter(({ text }) => !text.includes(WAITS))
  expect(silent.map(({ name }) => name)).toEqual([])
})

test('with a mail server no page says that mails wait', () => {
  expect(textsWith(true).filter(({ text }) => text.includes(WAITS))).toEqual([])
})

test('where an access is allowed without a mail server, the page says where to remove it', () => {
  const { granted = '' } = everyPage(makeFrame({ mail: false }))
  expect(textOf(granted)).toContain(t('decided.granted_remove'))
})
