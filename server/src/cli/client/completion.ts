/** `latchkey completion`: scripts for shells, generated from the command tree. */
import { Argument, type Command } from 'commander'

const SHELLS = { bash, zsh, fish }

export function defineCompletion(command: Command, createProgram: () => Promise<Command>): void {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
Load it in the start-up file of the shell:
  bash   source <(latchkey completion bash)
  zsh    source <(latchkey completion zsh)
  fish   latchkey completion fish | source`,
    )
    .action(async (shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](describe(await createProgram(), 'latchkey')))
    })
}

type Word = { readonly word: string; readonly about: string }

type Described = {
  /** From the executable: "latchkey key create". */
  readonly path: string
  readonly subcommands: readonly Word[]
  readonly options: readonly (Word & { readonly takesValue: boolean; readonly choices: readonly string[] })[]
  /** Values of the first argument, if they are known. */
  readonly choices: readonly string[]
}

function describe(command: Command, path: string): readonly Described[] {
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  const described: Described = {
    path,
    subcommands: subcommands.map((each) => ({ word: each.name(), about: each.description() })),
    options: help.visibleOptions(command).map(({ long, description, required, optional, argChoices }) => ({
      word: long ?? '',
      about: description,
      takesValue: required || optional,
      choices: argChoices ?? [],
    })),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  }
  return [described, ...subcommands.flatMap((each) => describe(each, `${path} ${each.name()}`))]
}

/** Single quotes, in which no shell of the three expands anything. */
const quote = (text: string, quoted = `'\\''`) => `'${text.replaceAll("'", quoted)}'`

const choicesOf = (commands: readonly Described[]) =>
  commands.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ word, choices }) => ({ at: `${path} ${word}`, choices })),
  )

/** Follows the words before the cursor down the command tree: `at` is the path of the command that they name. */
const followInShell = (commands: readonly Described[], words: string) => `  local at=latchkey word
  for word in ${words}; do
    case "$at $word" in
      ${commands
        .slice(1)
        .map(({ path }) => quote(path))
        .join(' | ')}) at="$at $word" ;;
    esac
  done`

function bash(commands: readonly Described[]): string {
  const wordsOf = ({ subcommands, options, choices }: Described) =>
    [...subcommands, ...options].map(({ word }) => word).concat(choices)
  return `# Completion of latchkey for bash.
_latchkey() {
${followInShell(commands, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  local words
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${choicesOf(commands)
  .map(({ at, choices }) => `    ${quote(at)}) words=${quote(choices.join(' '))} ;;`)
  .join('\n')}
    *) case "$at" in
${commands.map((each) => `      ${quote(each.path)}) words=${quote(wordsOf(each).join(' '))} ;;`).join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _latchkey latchkey
`
}

function zsh(commands: readonly Described[]): string {
  const list = (words: readonly Word[]) =>
    words.map(({ word, about }) => quote(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ')
  const plain = (words: readonly string[]) => words.map((word) => ({ word, about: word }))
  return `#compdef latchkey
# Completion of latchkey for zsh.
_latchkey() {
${followInShell(commands, `\${words[2,CURRENT-1]}`)}
  local -a offered
  case "$at \${words[CURRENT-1]}" in
${choicesOf(commands)
  .map(({ at, choices }) => `    ${quote(at)}) offered=(${list(plain(choices))}) ;;`)
  .join('\n')}
    *) case "$at" in
${commands
  .map(
    ({ path, subcommands, options, choices }) =>
      `      ${quote(path)}) offered=(${list([...subcommands, ...plain(choices), ...options])}) ;;`,
  )
  .join('\n')}
    esac ;;
  esac
  _describe latchkey offered || _files
}
compdef _latchkey latchkey
`
}

function fish(commands: readonly Described[]): string {
  const text = (words: string) => quote(words, `\\'`)
  const lines = commands.flatMap(({ path, subcommands, options, choices }) => {
    const line = (rest: string) => `complete -c latchkey -n "__latchkey_at ${text(path)}" ${rest}`
    return [
      ...subcommands.map(({ word, about }) => line(`-f -a ${word} -d ${text(about)}`)),
      ...(choices.length > 0 ? [line(`-f -a ${text(choices.join(' '))}`)] : []),
      ...options.map(({ word, about, takesValue, choices: values }) => {
        const value = values.length > 0 ? `-x -a ${text(values.join(' '))} ` : takesValue ? '-r ' : ''
        return line(`-l ${word.slice(2)} ${value}-d ${text(about)}`)
      }),
    ]
  })
  return `# Completion of latchkey for fish.
function __latchkey_at
  set -l at latchkey
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${commands
        .slice(1)
        .map(({ path }) => text(path))
        .join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}
