/**
 * Actions of staff: a form for each command that changes something, built from its declaration. Afterwards the previous
 * page shows a message about the result. A secret is shown once.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { facts, freeText, linkButton, message, time, copyableText } from '../kit/parts.ts'
import { hiddenField } from '../kit/forms.ts'
import { pathWithQuery, page, readForm, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { commandFields, commandRoute, noteField, type RefusedForm } from './forms.ts'
import { type DeskChanges, type DeskFrame, FieldRefusal, type FormOption, type Person, staffRoute } from './request.ts'
import { deskTexts, type DeskTexts } from './texts.ts'

export type ActionName = keyof DeskTexts['acts']
export const isActionName = (text: string): text is ActionName => Object.hasOwn(deskTexts.en.acts, text)

/** Returns the title of an action: a verb with its object. */
export const actionTitle = ({ language }: ConsoleView, act: ActionName): string => deskTexts[language].acts[act][0]
const doneText = ({ language }: ConsoleView, act: ActionName): string => deskTexts[language].acts[act][1]

/** Paths of actions that have a page or form of their own. */
const actPages: Readonly<Partial<Record<ActionName, string>>> = {
  ...{ 'change approve': 'changes', 'change reject': 'changes', 'change run': 'changes' },
  ...{ 'staff invite': 'staff', 'staff role': 'staff', 'staff remove': 'staff', 'staff end-sessions': 'staff' },
  ...{ 'staff token end': 'device', impersonate: 'staff', 'decider set': 'deciders' },
  ...{ 'case propose': 'queue', 'case approve': 'queue', 'case reject': 'queue', 'screening decide': 'hits' },
  ...{ 'screening country set': 'countries', 'screening country remove': 'countries' },
  ...{ 'monitoring rule set': 'rules', 'monitoring rule on': 'rules', 'monitoring rule off': 'rules' },
  ...{ 'monitoring rule backtest': 'rules', 'monitoring backtest start': 'rules' },
  ...{ 'bank file take': 'files', 'payment end': 'find', 'payment retry': 'find' },
}

/** Actions that can run only on the host, because they create or use its keys. */
const hostOnlyActs: ReadonlySet<string> = new Set(['wallet-key create', 'key reseal'])

type KnownOptions = Readonly<Record<string, string>>
type ActPermission = {
  readonly changes: Pick<DeskChanges, 'act' | 'mayDecide'>
  readonly person: Pick<Person, 'signed'>
}

/**
 * Reports whether an action has a generated form: it needs neither a file nor a key of the host, and has no page of its
 * own.
 */
export const hasForm = (changes: Pick<DeskChanges, 'act'>, act: ActionName): boolean =>
  !hostOnlyActs.has(act) && actPages[act] === undefined && changes.act(act) !== undefined

const mayUseForm = ({ changes, person }: ActPermission, act: ActionName): boolean =>
  hasForm(changes, act) && changes.mayDecide(act, person.signed.account.role)

/**
 * Returns the path of the form of an action, from the root of the desk. `given`: known options. `back`: the page to
 * return to.
 */
export const actionHref = (act: ActionName, given: KnownOptions, back: string): string =>
  pathWithQuery('act', { command: act, ...given, back })

type ActOffer = { readonly acts: readonly ActionName[]; readonly given: KnownOptions; readonly back: string }

/** Renders buttons for the actions that the person may use. Undefined if there are none. */
export function actionButtons(
  view: ConsoleView,
  may: ActPermission,
  { acts, given, back }: ActOffer,
): Html | undefined {
  const own = acts.filter((act) => mayUseForm(may, act))
  if (own.length === 0) return undefined
  return html`<p class="buttons">
    ${own.map((act) => linkButton(`${view.root}${actionHref(act, given, back)}`, actionTitle(view, act)))}
  </p>`
}

/** Links from a runbook to the forms or pages of the commands that it mentions. */
export function runbookActions(view: ConsoleView, may: ActPermission, commands: readonly string[]): Html | undefined {
  const own = commands.filter(isActionName).filter((act) => mayUseForm(may, act) || actPages[act] !== undefined)
  if (own.length === 0) return undefined
  const d = deskTexts[view.language].act
  return html`<section class="acts" aria-labelledby="acts-title">
    <h2 id="acts-title">${d.list}</h2>
    <ul>
      ${own.map(
        (act) =>
          html`<li>
            <a href="${view.root}${actPages[act] ?? actionHref(act, {}, 'queue')}">${actionTitle(view, act)}</a>
          </li>`,
      )}
    </ul>
  </section>`
}

/** Renders the message about the last action: done, or awaiting a second person. Undefined if there was none. */
export function actionMessage(view: ConsoleView, { query }: PublicRequest): Html | undefined {
  const fields = new URLSearchParams(query)
  const [said, waits] = [fields.get('said') ?? '', fields.get('waits') ?? '']
  const d = deskTexts[view.language].act
  if (isActionName(said)) return message('good', doneText(view, said))
  if (!isActionName(waits)) return undefined
  return html`${message('warning', `${actionTitle(view, waits)}: ${d.waits}`)}
    <p><a class="button" href="${view.root}changes">${d.openChanges}</a></p>`
}

/** Adds the result of an action to a URL. `waits`: the change that a second person must approve. */
export const actionResultHref = (back: string, act: string, waits: string | undefined): string =>
  `${back}${back.includes('?') ? '&' : '?'}${waits === undefined ? 'said' : 'waits'}=${encodeURIComponent(act)}`

type ActForm = {
  readonly act: ActionName
  readonly options: readonly FormOption[]
  /** Options set by the previous page. The form does not ask for them again. */
  readonly given: KnownOptions
  readonly partnerName: string | undefined
  readonly cuts: boolean
  readonly back: string
  readonly refused?: RefusedForm | undefined
}

/**
 * Options that identify the subject. If the previous page has set them, the form shows and sends them without a field.
 */
const subjectOptions = ['partner', 'customer', 'beneficiary', 'payout', 'scope'] as const

/** Lists options that do not apply given the known ones. For example, a limit for one payee has no customer. */
function unfittingOptions(given: KnownOptions): readonly string[] {
  if ((given['beneficiary'] ?? '') !== '') return ['customer', 'state']
  return (given['customer'] ?? '') === '' ? [] : ['beneficiary', 'currency of account', 'state']
}

/** Lists the partner, customer, payee and payout of an action, with links. */
function subjectFacts(view: ConsoleView, given: KnownOptions, partnerName: string): Parameters<typeof facts>[0] {
  const { partner = '', customer = '', beneficiary = '', payout = '' } = given
  const d = deskTexts[view.language].parties
  const link = (text: string, path: string) =>
    html`<a href="${view.root}${path}/${partner}/${text}">${shortId(text)}</a>`
  return [
    [d.partner, html`<a href="${view.root}partners/${partner}">${partnerName}</a>`],
    [d.customer, customer === '' ? undefined : link(customer, 'customers')],
    [d.payee, beneficiary === '' ? undefined : link(beneficiary, 'payees')],
    [d.payment, payout === '' ? undefined : link(payout, 'payouts')],
  ]
}
const shortId = (id: string): string => `…${id.slice(-8)}`

export function actionPage(view: ConsoleView, shown: ActForm): string {
  const { act, options, given, partnerName, cuts, back, refused } = shown
  const d = deskTexts[view.language].act
  const title = actionTitle(view, act)
  const typed = (name: string) => refused?.form(name) ?? given[name] ?? ''
  const problems = refused === undefined ? {} : { [refused.field ?? 'form']: refused.error }
  const takes = (name: string) => options.some((option) => option.name === name)
  // Without a known partner the form asks for every option.
  const known =
    partnerName === undefined ? [] : subjectOptions.filter((name) => takes(name) && (given[name] ?? '') !== '')
  const others = known.length === 0 ? [] : unfittingOptions(given)
  const isBalance = act.startsWith('account ') && others.includes('currency of account')
  const without = [...known, ...others, ...(isBalance ? ['currency'] : [])]
  return shell(view, {
    title,
    problems,
    card: true,
    main: html`<h1>${title}</h1>
      ${known.length > 0 && facts(subjectFacts(view, given, partnerName ?? ''))} ${cuts && message('warning', d.cuts)}
      <form method="post" action="${view.root}act">
        ${hiddenField('command', act)} ${hiddenField('back', back)}
        ${known.map((name) => hiddenField(name, given[name] ?? ''))}
        ${commandFields(view, { command: act, options, without, typed, refused })}
        ${noteField(view, 'note', { value: typed('note') })}
        ${
          cuts &&
          html`<div class="choice">
            <input type="checkbox" id="sure" name="sure" value="yes" required />
            <label for="sure">${d.sure}</label>
          </div>`
        }
        <button type="submit" class="${cuts ? 'danger' : 'primary'}">${title}</button>
      </form>
      <p class="foot"><a href="${view.root}${back}">${d.back}</a></p>`,
  })
}

type SecretResult = {
  readonly act: string
  readonly result: unknown
  readonly back: string
  readonly more?: Html | undefined
}

/** Renders the page of a secret result, such as a credential, which is not stored. Each part has a label and a copy button. */
export function secretPage(view: ConsoleView, { act, result, back, more }: SecretResult): string {
  const d = deskTexts[view.language].staff
  const title = isActionName(act) ? actionTitle(view, act) : d.result
  const parts = Array.isArray(result) ? (result as readonly unknown[]) : [result]
  return shell(view, {
    title,
    main: html`<h1>${title}</h1>
      ${isActionName(act) && message('good', doneText(view, act))}
      <p class="message warning">${d.once}</p>
      ${more} ${parts.map((part) => facts(resultFacts(view, part)))}
      <p><a class="button" href="${view.root}${back}">${d.back}</a></p>`,
  })
}

const timeForm = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

function resultFacts(view: ConsoleView, part: unknown): readonly (readonly [string, Html | string | undefined])[] {
  const names: Readonly<Record<string, string>> = deskTexts[view.language].results
  return Object.entries(Object(part) as Readonly<Record<string, unknown>>).map(([key, value]) => {
    const name = names[key] ?? deskTexts[view.language].results.other
    if (value instanceof Date) return [name, time(view, value)] as const
    if (value === null || value === undefined) return [name, undefined] as const
    if (Array.isArray(value)) return [name, freeText(value.join(', '))] as const
    if (typeof value === 'object') return [name, facts(resultFacts(view, value))] as const
    const text =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
    return [name, timeForm.test(text) ? time(view, new Date(text)) : copyableText(view, text, name)] as const
  })
}

/** Matches the path of a page of the desk, never a URL of another site. */
const backForm = /^[a-z]+(?:[/?&=][\w.%:+~-]*)*$/
const readBack = (text: string): string => (backForm.test(text) && text.length <= 400 ? text : 'queue')

export function actionRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { changes } = frame
  return [
    staffRoute(frame, 'queue', 'GET', '/act', (request, person) => {
      const fields = new URLSearchParams(request.query)
      return show(frame, request, person, (name) => fields.get(name) ?? '')
    }),
    commandRoute(frame, {
      ...{ place: 'queue', path: '/act' },
      command: (form) => {
        const act = form('command')
        if (!isActionName(act) || !hasForm(changes, act)) throw notFound('page')
        return act
      },
      more: (form, { view }) => {
        const isSure = changes.act(form('command'))?.cuts !== true || form('sure') === 'yes'
        if (!isSure) throw new FieldRefusal('sure', deskTexts[view.language].act.unsure)
        return {}
      },
      answer: ({ waits, result }, request, { view }) => {
        const form = readForm(request)
        const [act, back] = [form('command'), readBack(form('back'))]
        const made = act === 'partner create' ? readResultId(result, 'partnerId') : undefined
        const next = made === undefined ? back : `partners/${made}`
        const isSecret = waits === undefined && (changes.act(act)?.secret === true || hasSecret(result))
        if (isSecret) return page(request, 200, secretPage(view, { act, result, back: next }))
        return seeOther(actionResultHref(`${view.root}${next}`, act, waits))
      },
      again: (request, person, refused) => show(frame, request, person, refused.form, refused),
    }),
  ]
}

const readResultId = (result: unknown, name: string): string | undefined => {
  const id = (Object(result) as Readonly<Record<string, unknown>>)[name]
  return typeof id === 'string' && uuidPattern.test(id) ? id : undefined
}
/** Reports whether the result contains a secret: in a sandbox, a partner is created with its first credential. */
const hasSecret = (result: unknown): boolean => Object.hasOwn(Object(result) as object, 'apiSecret')

async function show(
  { db, access, changes }: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  given: (name: string) => string,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const act = given('command')
  const known = isActionName(act) && hasForm(changes, act) ? changes.act(act) : undefined
  if (!isActionName(act) || known === undefined) throw notFound('page')
  const back = readBack(given('back'))
  if (!changes.mayDecide(act, signed.account.role)) {
    const d = deskTexts[view.language].act
    const main = html`<h1>${actionTitle(view, act)}</h1>
      ${message('neutral', d.mayNot)}
      <p class="foot"><a href="${view.root}${back}">${d.back}</a></p>`
    return page(request, 403, shell(view, { title: actionTitle(view, act), main, card: true }))
  }
  const options = changes.form(act)
  const partner = given('partner')
  const names = uuidPattern.test(partner) ? await access.namesOf(db, [partner]) : new Map<string, string>()
  const shown = { act, options, back, cuts: known.cuts, partnerName: names.get(partner), refused }
  const fields = Object.fromEntries(options.map(({ name }) => [name, given(name)]))
  return page(request, refused === undefined ? 200 : 400, actionPage(view, { ...shown, given: fields }))
}
