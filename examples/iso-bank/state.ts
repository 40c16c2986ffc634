/** The bank's memory, which follows from the records of its journal alone. */
import {
  type BankAccount,
  type Book,
  type Entry,
  type FileFault,
  type FileKind,
  type OddityRecord,
  type Order,
  type Payment,
  type PaymentRecord,
  type Settings,
  type StatementRecord,
  type Treatment,
  settingsDefault,
} from './model.ts'

type PaymentOrder = Extract<Order, { readonly order: 'payment' }>
export type Late = { readonly instructionId: string; readonly code: string; readonly short?: bigint }

/** Action at a time. Times are ISO texts. */
export type Task = Work & { readonly id: string; readonly at: string }
export type Work =
  | { readonly what: 'execute'; readonly instructionIds: readonly string[] }
  | { readonly what: 'reject' | 'contradict' | 'return'; readonly payments: readonly Late[] }

/** `bytes` are in the folder `out` under the name. `half`: its first half appears first. `kept`: its contents wait to be sent again. */
export type OutFile = {
  readonly name: string
  readonly kind: FileKind
  readonly messageId: string
  readonly at: string
  readonly how: 'whole' | 'half' | 'kept' | 'omitted'
}

export type Record =
  | { readonly t: 'received'; readonly inbox: string; readonly name: string; readonly messageId: string | null }
  | {
      readonly t: 'payment'
      readonly payment: Payment
      readonly treatment: Treatment
      readonly status: PaymentRecord['status']
    }
  | { readonly t: 'again'; readonly instructionId: string }
  | { readonly t: 'duplicate'; readonly text: string }
  | {
      readonly t: 'status'
      readonly instructionId: string
      readonly status: PaymentRecord['status']
      readonly executed: number
    }
  | { readonly t: 'entry'; readonly entry: Entry }
  | { readonly t: 'told'; readonly account: string; readonly currency: string; readonly upTo: number }
  | { readonly t: 'statement'; readonly statement: StatementRecord; readonly from: number; readonly at: string }
  | { readonly t: 'task'; readonly task: Task }
  | { readonly t: 'task done'; readonly id: string }
  | { readonly t: 'file'; readonly file: OutFile }
  | { readonly t: 'sent again'; readonly name: string }
  | { readonly t: 'payment order'; readonly order: PaymentOrder; readonly id: string }
  | { readonly t: 'used'; readonly id: string }
  | { readonly t: 'file order'; readonly kind: FileKind; readonly fault: FileFault }
  | { readonly t: 'file order used'; readonly kind: FileKind }
  | { readonly t: 'settings'; readonly settings: Partial<Settings> }
  | { readonly t: 'oddity'; readonly oddity: OddityRecord }
  | { readonly t: 'recall'; readonly endToEndId: string; readonly reason: string; readonly answer: string }

export type AccountState = BankAccount & {
  balance: bigint
  readonly entries: Entry[]
  /** Entries below this index were told by a report of the day, or are on a statement. */
  toldUpTo: number
  statementUpTo: number
  readonly statements: (StatementRecord & { readonly from: number; readonly at: string })[]
}

type Standing = { readonly id: string; readonly order: PaymentOrder; left: number }

export type State = {
  settings: Settings
  readonly accounts: readonly AccountState[]
  readonly payments: Map<string, PaymentRecord & { treatment: Treatment }>
  readonly messageIds: Set<string>
  readonly inbox: Set<string>
  readonly received: string[]
  readonly orders: Standing[]
  readonly fileOrders: { readonly kind: FileKind; readonly fault: FileFault }[]
  readonly tasks: Map<string, Task>
  readonly files: Map<string, OutFile>
  readonly oddities: OddityRecord[]
  readonly duplicates: string[]
  readonly recalls: Book['recalls'][number][]
  readonly reports: Map<FileKind, number>
}

export const createState = (accounts: readonly BankAccount[]): State => ({
  settings: settingsDefault,
  accounts: accounts.map((account) => ({
    ...account,
    balance: account.opening,
    entries: [],
    toldUpTo: 0,
    statementUpTo: 0,
    statements: [],
  })),
  payments: new Map(),
  messageIds: new Set(),
  inbox: new Set(),
  received: [],
  orders: [],
  fileOrders: [],
  tasks: new Map(),
  files: new Map(),
  oddities: [],
  duplicates: [],
  recalls: [],
  reports: new Map(),
})

export function accountOf(state: State, iban: string, currency: string): AccountState | undefined {
  return state.accounts.find((account) => account.iban === iban && account.currency === currency)
}

export function apply(state: State, record: Record): void {
  switch (record.t) {
    case 'received':
      state.inbox.add(record.inbox)
      state.received.push(record.name)
      if (record.messageId !== null) state.messageIds.add(record.messageId)
      break
    case 'payment': {
      const { payment, treatment, status } = record
      state.payments.set(payment.instructionId, { ...payment, treatment, status, timesReceived: 1, timesExecuted: 0 })
      break
    }
    case 'task':
      state.tasks.set(record.task.id, record.task)
      break
    case 'task done':
      state.tasks.delete(record.id)
      break
    case 'file':
      state.files.set(record.file.name, record.file)
      state.reports.set(record.file.kind, (state.reports.get(record.file.kind) ?? 0) + 1)
      break
    case 'sent again':
      state.files.delete(record.name)
      break
    case 'duplicate':
      state.duplicates.push(record.text)
      break
    case 'oddity':
      state.oddities.push(record.oddity)
      break
    case 'recall':
      state.recalls.push({ endToEndId: record.endToEndId, reason: record.reason, answer: record.answer })
      break
    case 'settings':
      state.settings = { ...state.settings, ...record.settings }
      break
    case 'again':
    case 'status':
      applyToPayment(state, record)
      break
    case 'entry':
    case 'told':
    case 'statement':
      applyToAccount(state, record)
      break
    default:
      applyOrder(state, record)
  }
}

function applyToPayment(state: State, record: Extract<Record, { readonly t: 'again' | 'status' }>): void {
  const payment = state.payments.get(record.instructionId)
  if (payment === undefined) return
  state.payments.set(
    record.instructionId,
    record.t === 'again'
      ? { ...payment, timesReceived: payment.timesReceived + 1 }
      : { ...payment, status: record.status, timesExecuted: payment.timesExecuted + record.executed },
  )
}

function applyToAccount(state: State, record: Extract<Record, { readonly t: 'entry' | 'told' | 'statement' }>): void {
  const { account: iban, currency } =
    record.t === 'entry' ? record.entry : record.t === 'told' ? record : record.statement
  const account = accountOf(state, iban, currency)
  if (account === undefined) throw new Error(`the bank has no account ${iban} in ${currency}`)
  if (record.t === 'entry') {
    account.entries.push(record.entry)
    account.balance += record.entry.amount
  } else if (record.t === 'told') account.toldUpTo = record.upTo
  else {
    account.statements.push({ ...record.statement, from: record.from, at: record.at })
    account.statementUpTo = record.from + record.statement.entries
    account.toldUpTo = Math.max(account.toldUpTo, account.statementUpTo)
  }
}

type OrderRecord = Extract<Record, { readonly t: 'payment order' | 'used' | 'file order' | 'file order used' }>

function applyOrder(state: State, record: OrderRecord): void {
  switch (record.t) {
    case 'payment order':
      state.orders.push({ id: record.id, order: record.order, left: record.order.times ?? Number.MAX_SAFE_INTEGER })
      break
    case 'used': {
      const at = state.orders.findIndex(({ id }) => id === record.id)
      const standing = state.orders[at]
      if (standing === undefined) break
      standing.left -= 1
      if (standing.left === 0) state.orders.splice(at, 1)
      break
    }
    case 'file order':
      state.fileOrders.push({ kind: record.kind, fault: record.fault })
      break
    case 'file order used': {
      const at = state.fileOrders.findIndex(({ kind }) => kind === record.kind)
      if (at >= 0) state.fileOrders.splice(at, 1)
    }
  }
}

export function bookOf(state: State): Book {
  return {
    accounts: state.accounts.map(({ iban, currency, owner, opening, balance }) => ({
      iban,
      currency,
      owner,
      opening,
      balance,
    })),
    payments: [...state.payments.values()].map(({ treatment: _treatment, ...payment }) => payment),
    entries: state.accounts.flatMap(({ entries }) => entries),
    statements: state.accounts.flatMap(({ statements }) =>
      statements.map(({ from: _from, at: _at, ...statement }) => statement),
    ),
    oddities: state.oddities,
    duplicates: state.duplicates,
    received: state.received,
    sent: [...state.files.values()].filter(({ how }) => how === 'whole' || how === 'half').map(({ name }) => name),
    recalls: state.recalls,
  }
}
