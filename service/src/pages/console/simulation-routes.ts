/** Simulations of the sandbox by form. Each calls its operation. */
import { operations, rawNumber } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import {
  callOf,
  linkOf,
  type Problems,
  problemsOf,
  readQuery,
  routesOf,
  statusOf,
  type Values,
} from './payments-request.ts'
import { type Frame, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { simulationPage, simulationsPage } from './simulation-page.ts'
import { simulated, type SimulatedField, simulationNames } from './simulations.ts'
import { paymentTexts } from './texts/payments.ts'
import { type SimulationName, simulationTexts } from './texts/simulations.ts'

function nameOf({ params }: PublicRequest): SimulationName {
  const name = simulationNames.find((each) => each === params['name'])
  if (name === undefined) throw notFound('page')
  return name
}

const fieldNames = (name: SimulationName): readonly string[] => simulated[name].fields.map((field) => field.name)

/** An answer names a reference, an id, a hash, a number or a time. */
const resultForm = /^[\w.:-]{1,140}$/

function showForm(
  request: PublicRequest,
  { view, caller }: Person,
  values: Values,
  problems: Problems = {},
): PublicAnswer {
  const name = nameOf(request)
  const { result } = readQuery(request, ['result'])
  const shown = {
    ...{ name, values, problems, idempotencyKey: newId() },
    result: result !== undefined && resultForm.test(result) ? result : undefined,
    may: {
      transactions: caller.permissions.includes('transactions:read'),
      events: caller.permissions.includes('webhooks:read'),
    },
  }
  return page(request, statusOf(problems), simulationPage({ ...view, current: 'simulations' }, shown))
}

const decimalForm = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,10}))?$/

/** The value of a field as the operation takes it. Undefined: it is no number. */
function readValue({ kind }: SimulatedField, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  if (kind === 'count') return /^\d{1,6}$/.test(text) ? Number(text) : undefined
  if (kind !== 'amount') return text
  const [, whole, decimals] = decimalForm.exec(text) ?? []
  if (whole === undefined) return undefined
  return rawNumber(decimals === undefined ? whole : `${whole}.${decimals}`)
}

async function run({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const name = nameOf(request)
  const { operation, fields, result } = simulated[name]
  const given = readForm(request)
  const s = simulationTexts[person.view.language]
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
    return seeOther(linkOf(name, { result: String(made ?? 'done') }))
  } catch (error) {
    const [pathField] = pathFields
    if (pathField !== undefined && error instanceof Refusal && error.code === 'not_found')
      return showForm(request, person, values, { [pathField]: s.notFound })
    return showForm(request, person, values, problemsOf(paymentTexts[person.view.language], error, fieldNames(name)))
  }
}

export const simulationRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'simulations')
  return [
    route('GET', '', 'simulations:write', (_frame, request, { view }) =>
      page(request, 200, simulationsPage({ ...view, current: 'simulations' })),
    ),
    route('GET', '/{name}', 'simulations:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, fieldNames(nameOf(request)))),
    ),
    route('POST', '/{name}', 'simulations:write', run),
  ]
}
