/** Texts about mails, with and without a mail server. */
import { expect, test } from 'vitest'
import { type MessageKey, wordsFor } from '../../src/pages/ui/words.ts'
import { textOf } from '../rig/web.ts'
import { everyPage, makeFrame } from './make.ts'

const { t } = wordsFor('en')
const WAITS = t('notice.mail_waits')

/** Shown only with a mail server. */
const SENT = ['decided.granted_what', 'recover.text', 'recover.sent'] as const

/** Also shown without a mail server, together with the notice that mails wait. */
const PROMISED = ['invite.text', 'person.link_text', 'person.invitation_text', 'operator.decide_text'] as const

const textsWith = (mail: boolean) =>
  Object.entries(everyPage(makeFrame({ mail }))).map(([name, html]) => ({ name, text: textOf(html) }))
const saying = (key: (typeof SENT | typeof PROMISED)[number] & MessageKey, mail: boolean) =>
  textsWith(mail).filter(({ text }) => text.includes(t(key)))

test.each(SENT)('%s is shown with a mail server, and not without one', (key) => {
  expect(saying(key, true)).not.toEqual([])
  expect(saying(key, false)).toEqual([])
})

test.each(PROMISED)('%s is shown without a mail server only together with the notice that mails wait', (key) => {
  expect(saying(key, true)).not.toEqual([])
  const silent = saying(key, false).filter(({ text }) => !text.includes(WAITS))
  expect(silent.map(({ name }) => name)).toEqual([])
})

test('with a mail server no page says that mails wait', () => {
  expect(textsWith(true).filter(({ text }) => text.includes(WAITS))).toEqual([])
})

test('without a mail server, the page after a grant says where to remove it', () => {
  const { granted = '' } = everyPage(makeFrame({ mail: false }))
  expect(textOf(granted)).toContain(t('decided.granted_remove'))
})
