/**
 * The oracle of guarded payments: gates of verification, verification of payee, rules of monitoring. It is written from
 * the guides (customers, accounts, payout controls, monitoring), without the code of the service.
 */
export type State = 'Complete' | 'Incomplete' | 'Invalid'
export type Capability = 'OpenAccount' | 'Receive' | 'Pay' | 'Convert'
export type Result = 'Match' | 'CloseMatch' | 'NoMatch' | 'NotPossible'
/** Null: the partner itself. */
export type Owner = 0 | 1 | null
export type Gate = { readonly allowed: readonly Capability[]; readonly max: bigint | undefined }
export type Rule = {
  readonly id: string
  readonly when: 'before' | 'after'
  readonly country: string
  readonly least: bigint
  readonly since: number
  isOn: boolean
  readonly found: Set<Payout>
}
export type Alert = {
  readonly rule: Rule
  readonly owner: Owner
  resolution: 'released' | 'refused' | null
  readonly hits: Set<Payout>
  readonly held: Set<Payout>
}
export type Payout = {
  readonly id: string
  readonly reference: string
  readonly amount: bigint
  readonly owner: Owner
  readonly payee: Payee
  /** The name that was sent to the bank. */
  readonly name: string
  status: 'PendingApproval' | 'Pending' | 'Sent' | 'Completed' | 'Failed' | 'Cancelled'
  readonly steps: string[]
  changedAt: number
  bankCheck: Result | null
}
export type Payee = {
  readonly id: string
  readonly iban: string
  readonly owner: Owner
  name: string
  /** The last answer about the name other than `NotPossible`. */
  check: Result | null
  /** Null: it was never verified. `dueAt` undefined: no renewal is due. */
  renewal: { dueAt: number | undefined; attempts: number; result: Result } | null
}
type Party = { posted: bigint; reserved: bigint }

/** The answer of the sandbox to the first word of a name (docs/sandbox.md). Undefined: it does not answer. */
export const answerTo = (name: string): Result | undefined => {
  const [first = ''] = name.split(' ')
  if (first === 'Unreachable') return undefined
  return (['CloseMatch', 'NoMatch', 'NotPossible'] as const).find((each) => each === first) ?? 'Match'
}
/** The sandbox bank refuses one amount and rejects the other. */
export const [rejected, refused] = [4001_01n, 4001_02n]
export const approvalMs = 24 * 3_600_000
const minutesBetweenAttempts = [1, 5, 15, 60, 240, 720] as const
const goodness = { Match: 2, CloseMatch: 1, NoMatch: 0 } as const

export type World = {
  readonly isSegregated: boolean
  readonly customers: readonly (Party & { state: State })[]
  readonly own: Party
  readonly gates: Map<State, Gate>
  readonly payees: Payee[]
  readonly payouts: Payout[]
  readonly rules: Rule[]
  readonly alerts: Alert[]
  /** Money for customers that may not receive it. */
  readonly suspended: { readonly customer: 0 | 1; readonly amount: bigint; isOpen: boolean }[]
  readonly worsened: string[]
  readonly answers: Map<string, Result>
  holdsMismatches: boolean
  credited: number
  now: number
  lookedAt: number
}

export const createWorld = (isSegregated: boolean, float: bigint, now: number): World => ({
  ...{ isSegregated, now, lookedAt: 0, credited: 0, holdsMismatches: false, own: { posted: float, reserved: 0n } },
  ...{ customers: [0, 1].map(() => ({ state: 'Incomplete', posted: 0n, reserved: 0n })), gates: new Map() },
  ...{ payees: [], payouts: [], rules: [], alerts: [], suspended: [], worsened: [], answers: new Map() },
})

export const partyOf = ({ own, customers }: World, owner: Owner): Party =>
  owner === null ? own : (customers[owner] ?? own)
export const partiesOf = ({ own, customers }: World): readonly Party[] => [own, ...customers]
export function gateOf(world: World, customer: 0 | 1): Gate {
  const { state = 'Incomplete' } = world.customers[customer] ?? {}
  return world.gates.get(state) ?? { allowed: ['OpenAccount', 'Receive', 'Pay', 'Convert'], max: undefined }
}
const may = (world: World, owner: Owner, what: Capability) =>
  owner === null || gateOf(world, owner).allowed.includes(what)
function isAbove(world: World, owner: Owner, amount: bigint): boolean {
  const max = owner === null ? undefined : gateOf(world, owner).max
  return max !== undefined && partyOf(world, owner).posted + amount > max
}

function available(world: World, owner: Owner): bigint {
  const parties = world.isSegregated ? [partyOf(world, owner)] : partiesOf(world)
  return parties.reduce((sum, { posted, reserved }) => sum + posted - reserved, 0n)
}

// Gates.
export function credit(world: World, customer: 0 | 1, amount: bigint): void {
  if (may(world, customer, 'Receive') && !isAbove(world, customer, amount)) book(world, customer, amount)
  else world.suspended.push({ customer, amount, isOpen: true })
}

/** People may credit money that a gate has withheld. */
export function match(world: World, at: World['suspended'][number]): void {
  at.isOpen = false
  book(world, at.customer, at.amount)
}

function book(world: World, customer: 0 | 1, amount: bigint): void {
  partyOf(world, customer).posted += amount
  world.credited += 1
}

export function verdictOfTransfer(world: World, from: Owner, to: Owner, amount: bigint): string {
  if (from === to) return 'validation_failed'
  if (!may(world, from, 'Pay') || !may(world, to, 'Receive')) return 'customer_not_verified'
  if (isAbove(world, to, amount)) return 'balance_limit_exceeded'
  const { posted, reserved } = partyOf(world, from)
  return posted - reserved < amount ? 'insufficient_funds' : 'accepted'
}

export function transfer(world: World, from: Owner, to: Owner, amount: bigint): void {
  partyOf(world, from).posted -= amount
  partyOf(world, to).posted += amount
}

export function verdictOfPayout(world: World, { owner }: Payee, amount: bigint): string {
  if (!may(world, owner, 'Pay')) return 'customer_not_verified'
  return available(world, owner) < amount ? 'insufficient_funds' : 'accepted'
}

// The life of a payout.
export function pay(world: World, payee: Payee, amount: bigint, made: Pick<Payout, 'id' | 'reference'>): Payout {
  const waits = world.holdsMismatches && (payee.check === 'CloseMatch' || payee.check === 'NoMatch')
  const { owner, name } = payee
  const status = waits ? 'PendingApproval' : 'Pending'
  const payout: Payout = {
    ...{ ...made, amount, owner, payee, name, status, bankCheck: null },
    ...{ steps: ['Created', 'Reserved'], changedAt: world.now },
  }
  partyOf(world, owner).reserved += amount
  world.payouts.push(payout)
  return payout
}

export function move(world: World, payout: Payout, status: Payout['status'], ...steps: readonly string[]): void {
  payout.status = status
  payout.steps.push(...steps)
  payout.changedAt = world.now
  const hasEnded = status === 'Failed' || status === 'Cancelled' || status === 'Completed'
  if (hasEnded) partyOf(world, payout.owner).reserved -= payout.amount
  if (status === 'Completed') partyOf(world, payout.owner).posted -= payout.amount
}

export function lapse(world: World): void {
  for (const payout of world.payouts)
    if (payout.status === 'PendingApproval') move(world, payout, 'Cancelled', 'Expired')
}

/** A worker checks the rules before it begins a payout. A held payout waits; one that two people refused fails. */
export function send(world: World): void {
  for (const payout of world.payouts.filter(({ status }) => status === 'Pending')) {
    const holding = world.alerts.filter(({ held }) => held.has(payout))
    if (holding.every(({ resolution }) => resolution === 'released')) {
      const finding = world.rules.filter((rule) => rule.when === 'before' && finds(rule, payout))
      for (const rule of finding) alertOf(world, rule, payout).held.add(payout)
      if (finding.length > 0) wait(world, payout)
      else if (payout.amount === refused) move(world, payout, 'Failed', 'Accepted', 'Failed')
      else move(world, payout, 'Sent', 'Accepted', 'Sent')
    } else if (holding.every(({ resolution }) => resolution !== null)) move(world, payout, 'Failed', 'Failed')
  }
}

export function settle(world: World): void {
  for (const payout of world.payouts.filter(({ status }) => status === 'Sent'))
    if (payout.amount === rejected) move(world, payout, 'Failed', 'Failed')
    else move(world, payout, 'Completed', 'Settled')
}

function wait(world: World, payout: Payout): void {
  if (!payout.steps.includes('Screening')) move(world, payout, 'Pending', 'Screening')
}

// Rules of monitoring.
function finds({ isOn, country, least, found }: Rule, payout: Payout): boolean {
  return isOn && payout.payee.iban.startsWith(country) && payout.amount >= least && !found.has(payout)
}

function alertOf(world: World, rule: Rule, payout: Payout): Alert {
  const { owner } = payout
  const open = world.alerts.findLast((each) => each.rule === rule && each.owner === owner && each.resolution === null)
  const alert = open ?? { rule, owner, resolution: null, hits: new Set(), held: new Set() }
  if (open === undefined) world.alerts.push(alert)
  alert.hits.add(payout)
  rule.found.add(payout)
  return alert
}

/**
 * Checks the payouts that have changed since the last check, and since the rule was turned on. The worker checks the
 * rules before the payment for waiting payouts.
 */
export function look(world: World): void {
  if (!world.rules.some(({ isOn }) => isOn)) return
  const changed = world.payouts.filter(({ changedAt, status }) => {
    return changedAt > world.lookedAt && status !== 'Cancelled'
  })
  for (const rule of world.rules)
    for (const payout of changed)
      if (payout.changedAt >= rule.since && (rule.when === 'after' || payout.steps.includes('Accepted')))
        if (finds(rule, payout)) alertOf(world, rule, payout)
  world.lookedAt = world.now
}

/** Counts of the payouts that a decision reaches (`waiting`), does not reach (`left`), and that have ended. */
export function standingOf({ hits, held }: Alert): {
  readonly waiting: bigint
  readonly left: bigint
  readonly ended: bigint
} {
  const ended = [...hits].filter(({ status }) => status === 'Failed' || status === 'Cancelled').length
  const waiting = [...held].filter(({ status }) => status === 'Pending').length
  return { waiting: BigInt(waiting), ended: BigInt(ended), left: BigInt(hits.size - ended - waiting) }
}

// Verification of payee.
export function verify(world: World, name: string, iban: string): Result {
  const answer = answerTo(name)
  world.answers.set(`${iban} ${name}`, answer ?? 'NotPossible')
  if (answer !== undefined)
    for (const payee of world.payees) if (payee.name === name && payee.iban === iban) adopt(world, payee, answer)
  return answer ?? 'NotPossible'
}

/**
 * A name that was never verified has no answer. If the previous name had one, the new name is verified automatically.
 */
export function rename(world: World, payee: Payee, name: string): void {
  if (payee.name === name) return
  const earlier = world.answers.get(`${payee.iban} ${payee.name}`)
  payee.name = name
  payee.check = null
  if (payee.renewal === null && earlier !== undefined)
    payee.renewal = { dueAt: undefined, attempts: 0, result: earlier }
  const answer = world.answers.get(`${payee.iban} ${name}`)
  if (payee.renewal !== null) Object.assign(payee.renewal, { dueAt: world.now, attempts: 0 })
  else if (answer !== undefined) adopt(world, payee, answer)
}

function adopt(world: World, payee: Payee, answer: Result): void {
  const result = answer === 'NotPossible' ? (payee.renewal?.result ?? answer) : answer
  payee.renewal = { dueAt: undefined, attempts: 0, result }
  if (answer !== 'NotPossible') payee.check = answer
}

export function renew(world: World): void {
  for (const payee of world.payees) {
    const { renewal, name, iban } = payee
    if (renewal?.dueAt === undefined || renewal.dueAt > world.now) continue
    const answer = answerTo(name)
    const minutes = answer === undefined ? minutesBetweenAttempts[renewal.attempts] : undefined
    if (minutes !== undefined) {
      payee.renewal = { ...renewal, dueAt: world.now + minutes * 60_000, attempts: renewal.attempts + 1 }
      continue
    }
    const known = answer ?? 'NotPossible'
    world.answers.set(`${iban} ${name}`, known)
    const [is, was] = [known, renewal.result].map((one) => (one === 'NotPossible' ? undefined : goodness[one]))
    if (is !== undefined && was !== undefined && is < was) world.worsened.push(`${payee.id} ${known}`)
    adopt(world, payee, known)
  }
}

/** The bank verifies the name of a payment. The result counts for the payee while it has that name. */
export function bankChecks(world: World, payout: Payout, result: Exclude<Result, 'NotPossible'>, step: string): void {
  payout.bankCheck = result
  move(world, payout, payout.status, step)
  if (payout.payee.name === payout.name) payout.payee.check = result
}
