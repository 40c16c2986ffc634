/** The rules for countries: the form runs the command of the operator that does the same. Every role of staff reads them. */
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { type CountryRules, countrySides } from '../../screening/index.ts'
import { type Form, page, readForm, seeOther } from '../kit/request.ts'
import { changesOf } from './command-routes.ts'
import { countriesPage, countryActs } from './country-pages.ts'
import { countryTexts } from './country-texts.ts'
import { type DeskFrame, noteOf, type Person, staffRoute } from './request.ts'

const commands = { set: 'screening country set', remove: 'screening country remove' } as const

type Refused = { readonly text: string; readonly field?: string; readonly form: Form }

export const countryRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'countries', 'GET', '/countries', (request, person) => show(frame, request, person)),
  staffRoute(frame, 'countries', 'POST', '/countries', (request, person) => change(frame, request, person)),
]

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  person: Person,
  refused?: Refused,
): Promise<PublicAnswer> {
  const { changes } = frame
  const { view, signed } = person
  const { rules } = (await changes.read('screening country list', {})) as { readonly rules: CountryRules['all'] }
  const waiting = await changesOf(frame, signed)
  const own = new Set<string>(Object.values(commands))
  const query = new URLSearchParams(request.query)
  const body = countriesPage(view, {
    rules,
    changes: waiting.filter(({ command }) => own.has(command)),
    mayWrite: changes.mayDecide(commands.set, signed.account.role),
    said: query.has('waits') ? 'waits' : query.has('done') ? 'done' : undefined,
    error: refused,
    typed: refused?.form ?? (() => ''),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

async function change(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, signed } = person
  if (signed.session.rested) return seeOther(`${view.root}sign-in`)
  const form = readForm(request)
  const d = countryTexts[view.language]
  const sides = countrySides.filter((side) => form(`for-${side}`) !== '')
  const act = countryActs.find((each) => each === form('act'))
  if (sides.length === 0) return show(frame, request, person, { text: d.sidesMissing, field: 'side', form })
  if (act === undefined) return show(frame, request, person, { text: d.actionMissing, field: 'act', form })
  const countries = form('countries')
    .split(/[\s,;]+/)
    .filter((each) => each !== '')
    .join(',')
  let field = 'note'
  try {
    const options = { countries, for: sides.join(','), note: noteOf(form) }
    field = 'countries'
    const { waits } =
      act === 'remove'
        ? await frame.changes.run(signed.account, commands.remove, options)
        : await frame.changes.run(signed.account, commands.set, { ...options, action: act })
    return seeOther(`countries?${waits === undefined ? 'done' : 'waits'}`)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
    return show(frame, request, person, { text: error.detail, field, form })
  }
}
