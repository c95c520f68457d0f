/** Problems of an application's settings, as sentences for whoever wrote them. */
import { MAX_REDIRECTS, type RedirectProblem } from '../dialog/redirect-uri.ts'
import type { SettingsProblem } from './settings.ts'

const APPLICATION_NAME =
  'An application has a name of 1 to 100 characters: letters or digits among them, single spaces, nothing invisible, in Unicode NFC.'

const NAME_TAKEN =
  'An application of another account that somebody vouches for has this name, or one that looks the same. Choose another.'

const REDIRECT_PROBLEMS: Readonly<Record<RedirectProblem, string>> = {
  too_long: 'it is too long.',
  not_an_address: 'it is not a whole address, with its scheme and host.',
  scheme: 'it has to start with https://, or with http:// on 127.0.0.1, [::1] or localhost.',
  userinfo: 'there is a name or a password in front of its host.',
  fragment: 'there must be no #.',
  wildcard: 'there must be no *: addresses are compared character by character.',
  host: 'its host is not one that DNS knows how to write.',
  not_canonical: 'it can be written in another way; write it as a browser shows it, with its path (at least /).',
  characters: 'there is something in its path or query that has to be percent-encoded.',
  query: 'its query has a parameter that the answer will bring: code, state, iss or error.',
}

export function explainSettings(problem: SettingsProblem): string {
  switch (problem.field) {
    case 'name':
      return problem.problem === 'taken' ? NAME_TAKEN : APPLICATION_NAME
    case 'scopes': {
      const names = problem.names.join(', ')
      if (problem.problem === 'unknown') return `Not in the scope catalogue: ${names}.`
      if (problem.problem === 'not_by_device') {
        return `No typed code may lead to ${names}, so an application with the device flow cannot have it in its default scopes. Leave it out there; requests in the dialog can still name it.`
      }
      return `Default and required scopes must be allowed ones; ${names} is not.`
    }
    case 'redirects':
      if (problem.problem === 'too_many') return `An application has at most ${MAX_REDIRECTS} redirect addresses.`
      return `"${problem.uri}" cannot be a redirect address: ${REDIRECT_PROBLEMS[problem.problem]}`
  }
}
