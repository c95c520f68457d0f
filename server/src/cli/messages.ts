/** `latchkey messages print`: the texts of the web interface, as a template for MESSAGES_DIR. */
import type { Command } from 'commander'
import { builtInMessages, languages } from '../pages/ui/words.ts'
import { CommandRefused } from './client/output.ts'

export function defineMessages(messages: Command): void {
  const codes = languages.map(({ code }) => code).join(', ')
  messages
    .command('print')
    .description('Print every text of a built-in language as JSON: a template for a file in MESSAGES_DIR.')
    .argument('[language]', `one of ${codes}`, 'en')
    .action((language: string) => {
      const texts = builtInMessages(language)
      if (!texts) throw new CommandRefused(`There are no built-in texts for "${language}", only for ${codes}.`)
      process.stdout.write(`${JSON.stringify(texts, null, 2)}\n`)
    })
}
