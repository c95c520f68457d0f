/** docs/install.md as `npm run verify -- install` reads it: which of its words are replaced when it is run. */
import { expect, test } from 'vitest'
import { OLD_COMPOSE } from '../../tools/install/compose.ts'
import { CONTAINER_SUBSTITUTIONS } from '../../tools/install/container.ts'
import { blocksOf, commandsOf } from '../../tools/install/document.ts'
import { MACHINE_SUBSTITUTIONS } from '../../tools/install/one-machine.ts'

test('a continued line and a here-document are one command', () => {
  const text = "umask 077\ncat > file <<'END'\na=1\n# b\nEND\nkubectl create \\\n  secret\nls\n"
  const commands = ['umask 077', "cat > file <<'END'\na=1\n# b\nEND", 'kubectl create \\\n  secret', 'ls']
  expect(commandsOf({ language: 'sh', text })).toEqual(commands)
})

test.each([
  ['Containers', CONTAINER_SUBSTITUTIONS],
  ['Containers on one machine', OLD_COMPOSE],
  ['One machine', MACHINE_SUBSTITUTIONS],
])('%s has the words that are replaced', (heading, substitutions) => {
  const text = blocksOf(heading).map((block) => block.text)
  expect(substitutions.filter(({ from }) => !text.join('').includes(from))).toEqual([])
})
