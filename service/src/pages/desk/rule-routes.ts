/** The rules of monitoring: each form runs the command of the operator that does the same. Every role of staff reads them. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import { type DeskFrame, noteOf, type Person, staffRoute } from './request.ts'
import { ruleOf } from './rule-form.ts'
import { rulePage, rulesPage, type RuleVersion } from './rule-pages.ts'

type Versions = readonly [RuleVersion, ...RuleVersion[]]
type RefusedForm = { readonly error: string; readonly form: Form; readonly refused: 'rule' | 'on' | 'off' | 'backtest' }

export function ruleRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { changes } = frame
  const mayWrite = ({ signed }: Person) => changes.mayDecide('monitoring rule set', signed.account.role)
  const list = async (request: PublicRequest, person: Person, refused?: RefusedForm) => {
    const shown = { rules: await readRules(frame), mayWrite: mayWrite(person), ...refused }
    return page(request, refused === undefined ? 200 : 400, rulesPage(person.view, shown))
  }
  const show = async (request: PublicRequest, person: Person, refused?: RefusedForm) => {
    const { id = '' } = request.params
    const versions = (await readRules(frame)).find(([last]) => last.id === id)
    if (versions === undefined) throw notFound('page')
    const shown = { versions, mayWrite: mayWrite(person), ...refused }
    return page(request, refused === undefined ? 200 : 400, rulePage(person.view, shown))
  }
  /** Runs a command for the person. A refusal is said on the page of the form, which keeps what was typed. */
  const form = (
    path: string,
    command: string,
    { refused, read, to, again }: FormShape & { readonly again: typeof show },
  ): PublicRoute =>
    staffRoute(frame, 'rules', 'POST', `/rules${path}`, async (request, person): Promise<PublicAnswer> => {
      const { id } = request.params
      if (id !== undefined && !uuid.test(id)) throw notFound('page')
      if (person.signed.session.rested) return seeOther(`${person.view.root}sign-in`)
      const given = readForm(request)
      try {
        // The version on the page: a colleague may have written the next one meanwhile.
        const seen = id === undefined ? {} : { id, version: given('version') }
        const options = { ...read(given), ...seen }
        const { result } = await changes.run(person.signed.account, command, options)
        return seeOther(to((result as { readonly id: string }).id))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return again(request, person, { error: error.detail, form: given, refused })
      }
    })
  const rule = { refused: 'rule', read: (given: Form) => ({ rule: ruleOf(given) }) } as const
  const days = (given: Form) => ({ from: given('from').trim(), until: given('until').trim() })
  const note = (given: Form) => ({ note: noteOf(given) })
  return [
    staffRoute(frame, 'rules', 'GET', '/rules', (request, person) => list(request, person)),
    staffRoute(frame, 'rules', 'GET', '/rules/{id}', (request, person) => show(request, person)),
    form('', 'monitoring rule set', { ...rule, to: (id) => `rules/${id}`, again: list }),
    form('/{id}', 'monitoring rule set', { ...rule, to: (id) => id, again: show }),
    form('/{id}/backtest', 'monitoring backtest start', {
      ...{ refused: 'backtest', read: days, to: (id) => `../${id}`, again: show },
    }),
    form('/{id}/on', 'monitoring rule on', { refused: 'on', read: note, to: (id) => `../${id}`, again: show }),
    form('/{id}/off', 'monitoring rule off', { refused: 'off', read: note, to: (id) => `../${id}`, again: show }),
  ]
}

type FormShape = {
  readonly refused: RefusedForm['refused']
  /** The options of the command. Refuses: validation_failed. */
  readonly read: (form: Form) => Readonly<Record<string, string>>
  readonly to: (id: string) => string
}

/** The versions of each rule, the last first. A rule has few versions, and an installation has few rules. */
async function readRules({ changes }: DeskFrame): Promise<readonly Versions[]> {
  const rows = (await changes.read('monitoring rule list', {})) as readonly RuleVersion[]
  return [...Map.groupBy(rows, ({ id }) => id).values()] as unknown as readonly Versions[]
}
