/** The simulations of the sandbox: each with its operation, fields and result. */
import {
  eventNames,
  type OperationId,
  operations,
  rawNumber,
  simulations,
  referenceCharsMax,
} from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import { type Draft, hiddenField, type Input, inputs, type FieldProblems, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { facts, identifier, message, table } from '../kit/parts.ts'
import { pathWithQuery, page, readForm, readQuery, seeOther, pageStatus } from '../kit/request.ts'
import { callOf, type Frame, may, type Person, refusalProblems, type Routes, placeRoutes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

/** How a field is sent: `amount` with its exact digits, `count` as a number, `switch` as a boolean, `path` in the path. */
type Kind = 'text' | 'amount' | 'count' | 'switch' | 'path'

type SimulationName = keyof ConsoleTexts['simulations']['names']

type SimulationField = keyof ConsoleTexts['simulations']['fields']

type SimulatedField = {
  readonly name: SimulationField
  readonly kind: Kind
  readonly optional?: boolean
  /** Values of a select. They are shown by their texts, or unchanged if they have none. */
  readonly options?: readonly string[]
  /** Initial value of the field. */
  readonly value?: string
}

type Simulation = {
  readonly operation: OperationId
  readonly fields: readonly SimulatedField[]
  /** Response field with the result, and the page that shows it. */
  readonly result?: { readonly field: string; readonly page: 'transaction' | 'events' | 'reversal' | 'none' }
}

const customerId: SimulatedField = { name: 'customerId', kind: 'text' }

const amount: SimulatedField = { name: 'amount', kind: 'amount' }

const currency: SimulatedField = { name: 'currency', kind: 'text', value: 'EUR' }

const outcome = (options: readonly string[]): SimulatedField => ({ name: 'outcome', kind: 'text', options })

const optional = (name: SimulationField, kind: Kind = 'text'): SimulatedField => ({ name, kind, optional: true })

const { depositOutcomes, withdrawalOutcomes, checkoutOutcomes, checkoutSteps } = simulations

export const simulationsByName: Readonly<Record<SimulationName, Simulation>> = {
  deposit: {
    operation: 'simulateDeposit',
    fields: [customerId, amount, currency, outcome(depositOutcomes), optional('websiteReference')],
    result: { field: 'reference', page: 'transaction' },
  },
  withdrawal: {
    operation: 'simulateWithdrawal',
    fields: [customerId, amount, currency, outcome(withdrawalOutcomes)],
    result: { field: 'reference', page: 'transaction' },
  },
  credit: {
    operation: 'simulateCredit',
    fields: [{ name: 'iban', kind: 'text' }, amount, currency, optional('debtorName'), optional('remittance')],
    result: { field: 'creditId', page: 'reversal' },
  },
  reversal: { operation: 'reverseSimulatedCredit', fields: [{ name: 'creditId', kind: 'path' }] },
  checkout: {
    operation: 'simulateCheckoutSession',
    fields: [
      { name: 'sessionId', kind: 'path' },
      { ...outcome(checkoutOutcomes), optional: true },
      { ...optional('step'), options: checkoutSteps },
      optional('amount', 'amount'),
      optional('currency'),
      optional('debtorName'),
      optional('countryCode'),
    ],
    result: { field: 'reference', page: 'transaction' },
  },
  event: {
    operation: 'simulateEvent',
    fields: [{ name: 'eventType', kind: 'text', options: eventNames }],
    result: { field: 'reference', page: 'events' },
  },
  rate: {
    operation: 'simulateFxRates',
    fields: [
      optional('base'),
      optional('quote'),
      optional('rate', 'amount'),
      { ...optional('stale', 'switch'), options: ['true', 'false'] },
    ],
    result: { field: 'asOf', page: 'none' },
  },
  tokens: {
    operation: 'simulateWalletDeposit',
    fields: [{ name: 'walletId', kind: 'path' }, amount, optional('from'), optional('confirmations', 'count')],
    result: { field: 'transactionHash', page: 'none' },
  },
  blocks: {
    operation: 'simulateChainBlocks',
    fields: [{ name: 'count', kind: 'count', value: '3' }],
    result: { field: 'head', page: 'none' },
  },
  reorganisation: {
    operation: 'simulateChainReorganisation',
    fields: [{ name: 'depth', kind: 'count' }],
    result: { field: 'head', page: 'none' },
  },
}

export const simulationNames = Object.keys(simulationsByName) as readonly SimulationName[]

export function simulationsPage(view: ConsoleView): string {
  const s = texts[view.language].simulations
  return shell(view, {
    title: view.t.simulations,
    wide: true,
    main: html`<h1>${view.t.simulations}</h1>
      <p class="lead">${s.lead}</p>
      ${table({
        caption: view.t.simulations,
        columns: [[s.simulation, 'head'], s.effect],
        rows: simulationNames.map((name) => [
          html`<a href="${view.root}simulations/${name}">${s.names[name]}</a>`,
          s.effects[name],
        ]),
      })}`,
  })
}

type SimulationForm = Draft & {
  readonly name: SimulationName
  /** The reference or id of the simulation that was just run. */
  readonly result?: string | undefined
  readonly may: { readonly transactions: boolean; readonly events: boolean }
}

export function simulationPage(view: ConsoleView, form: SimulationForm): string {
  const s = texts[view.language].simulations
  const { name, problems, idempotencyKey, result } = form
  return shell(view, {
    title: s.names[name],
    problems,
    main: html`${result !== undefined && resultPart(view, form, result)}
      <div class="card">
        <h1>${s.names[name]}</h1>
        <p class="lead">${s.effects[name]}</p>
        <form method="post" action="${view.root}simulations/${name}">
          ${hiddenField('idempotencyKey', idempotencyKey)}
          ${inputs(
            view,
            form,
            simulationsByName[name].fields.map((each) => simulationInput(view, each)),
          )}
          <button type="submit" class="primary">${s.run}</button>
        </form>
        <p class="foot"><a href="${view.root}simulations">${s.back}</a></p>
      </div>`,
  })
}

const keyboards = { amount: 'decimal', count: 'numeric' } as const

function simulationInput(view: ConsoleView, { name, kind, options, optional = false, value }: SimulatedField): Input {
  const s = texts[view.language].simulations
  const helps: Readonly<Record<string, string>> = s.helps
  const words: Readonly<Record<string, string>> = { ...s.outcomes, ...s.steps, ...s.staleness }
  return {
    name,
    label: s.fields[name],
    help: helps[name],
    value,
    optional,
    charsMax: referenceCharsMax,
    any: optional ? view.t.any : undefined,
    ...((kind === 'amount' || kind === 'count') && { keys: keyboards[kind] }),
    ...(options !== undefined && { options: options.map((each) => [each, words[each] ?? each]) }),
  }
}

function resultPart(view: ConsoleView, { name, may }: SimulationForm, result: string): Html {
  const s = texts[view.language].simulations
  const shown = simulationsByName[name].result?.page
  const link = (href: string, text: string) => html`<p><a class="button" href="${href}">${text}</a></p>`
  return html`${message('good', s.done)}
  ${simulationsByName[name].result !== undefined && facts([[s.result, identifier(view, result, s.result)]])}
  ${
    shown === 'transaction' &&
    may.transactions &&
    link(`${view.root}transactions/${encodeURIComponent(result)}`, s.toTransaction)
  }
  ${shown === 'events' && may.events && link(pathWithQuery(`${view.root}events`, { reference: result }), s.toEvents)}
  ${shown === 'reversal' && link(pathWithQuery(`${view.root}simulations/reversal`, { creditId: result }), s.toReversal)}`
}

function readName({ params }: PublicRequest): SimulationName {
  const name = simulationNames.find((each) => each === params['name'])
  if (name === undefined) throw notFound('page')
  return name
}

const fieldNames = (name: SimulationName): readonly string[] =>
  simulationsByName[name].fields.map((field) => field.name)

/** Matches the result of a simulation: a reference, an id, a hash, a number or a time. */
const resultPattern = /^[\w.:-]{1,140}$/

function showForm(
  request: PublicRequest,
  person: Person,
  values: FieldValues,
  problems: FieldProblems = {},
): PublicAnswer {
  const name = readName(request)
  const { result } = readQuery(request, ['result'])
  const shown = {
    name,
    values,
    problems,
    idempotencyKey: newId(),
    result: result !== undefined && resultPattern.test(result) ? result : undefined,
    may: { transactions: may(person, 'transactions:read'), events: may(person, 'webhooks:read') },
  }
  return page(request, pageStatus(problems), simulationPage(person.view, shown))
}

const decimalPattern = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,10}))?$/

/** Parses the value of a field for the operation. Undefined: the text is not a number. */
function readValue({ kind }: SimulatedField, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  if (kind === 'count') return /^\d{1,6}$/.test(text) ? Number(text) : undefined
  if (kind !== 'amount') return text
  const [, whole, decimals] = decimalPattern.exec(text) ?? []
  if (whole === undefined) return undefined
  return rawNumber(decimals === undefined ? whole : `${whole}.${decimals}`)
}

async function run({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const name = readName(request)
  const { operation, fields, result } = simulationsByName[name]
  const given = readForm(request)
  const s = texts[person.view.language].simulations
  const typed = fields.map((field) => ({ field, text: given(field.name).trim() })).filter(({ text }) => text !== '')
  const values = Object.fromEntries(typed.map(({ field, text }) => [field.name, text]))
  const read = typed.map(({ field, text }) => ({ field, value: readValue(field, text) }))
  const wrong = read.filter(({ value }) => value === undefined).map(({ field }) => [field.name, s.wrongNumber] as const)
  if (wrong.length > 0) return showForm(request, person, values, Object.fromEntries(wrong))
  const pathFields = fields.filter(({ kind }) => kind === 'path').map((field) => field.name)
  const sent = read.filter(({ field }) => field.kind !== 'path').map(({ field, value }) => [field.name, value] as const)
  const { idempotency } = operations[operation] as { readonly idempotency?: string }
  try {
    const answer: unknown = await operate(operation, {
      ...callOf(person, request),
      params: Object.fromEntries(pathFields.map((field) => [field, values[field] ?? ''])),
      ...(sent.length > 0 ? { body: Object.fromEntries(sent) } : {}),
      ...(idempotency === 'none' ? {} : { idempotencyKey: given('idempotencyKey') || newId() }),
    })
    const made = result && (answer as Readonly<Record<string, string | number>>)[result.field]
    return seeOther(pathWithQuery(name, { result: String(made ?? 'done') }))
  } catch (error) {
    const [pathField] = pathFields
    if (pathField !== undefined && error instanceof Refusal && error.code === 'not_found')
      return showForm(request, person, values, { [pathField]: s.notFound })
    return showForm(
      request,
      person,
      values,
      refusalProblems(texts[person.view.language].payments, error, fieldNames(name)),
    )
  }
}

export const simulationRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'simulations')
  return [
    route('GET', '', 'simulations:write', (_frame, request, { view }) => page(request, 200, simulationsPage(view))),
    route('GET', '/{name}', 'simulations:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, fieldNames(readName(request)))),
    ),
    route('POST', '/{name}', 'simulations:write', run),
  ]
}
