/** Creates what most tests need, through the API, as a partner does. */
import { randomUUID } from 'node:crypto'
import { type Resource, serviceAccounts } from '@partner-payments/wire'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { endedBulk, makeBulk } from './bulks.ts'
import { type Client, type Json, type JsonObject, listAt, success, textAt } from './client.ts'
import { joinByPassword, type Team } from './team.ts'
import { createProved } from './identity.ts'
import { createLate } from './late-payments.ts'
import { createRefunded } from './paid-session.ts'
import { until } from './until.ts'

/** Valid IBANs: the published examples of the countries. */
export const ibans = { DE: 'DE89370400440532013000', FR: 'FR1420041010050500013M02606', NL: 'NL91ABNA0417164300' }

/** RFC 2606: mail to these addresses is not delivered. */
export function uniqueEmail(): string {
  return `ada.${randomUUID().slice(0, 8)}@example.com`
}

export async function createCustomer(client: Client, fields: JsonObject = {}): Promise<JsonObject> {
  const defaults = { email: uniqueEmail(), kyc: { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB' } }
  return success(await client.post('/v1/customers', { ...defaults, ...fields }))
}

/** Adds an address if the currency goes by SWIFT, which needs one. */
export async function createBeneficiary(client: Client, fields: JsonObject = {}): Promise<JsonObject> {
  const address =
    fields['currency'] === 'USD' || fields['currency'] === 'GBP' ? { city: 'Berlin', country: 'DE' } : undefined
  const defaults = { name: 'Grace Hopper', iban: ibans.DE, currency: 'EUR', ...(address && { address }) }
  return success(await client.post('/v1/beneficiaries', { ...defaults, ...fields }))
}

/** The body of a payout request. `amount` is a JSON number literal, so that the service receives its exact digits. */
export function payoutText(beneficiaryId: string, amount: string, fields: JsonObject = {}): string {
  const rest = JSON.stringify({ beneficiaryId, currency: 'EUR', idempotencyKey: randomUUID(), ...fields })
  return `{"amount":${amount},${rest.slice(1)}`
}

/** Every item of a list, from all pages. */
export async function listAll(client: Client, path: string, query = ''): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  let cursor = ''
  for (;;) {
    const page = success(await client.get(`${path}?limit=100${query}${cursor}`))
    items.push(...listAt(page))
    if (typeof page.nextCursor !== 'string') return items
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

/** The minor units of a literal with at most two decimals. */
export function cents(literal: Json | undefined): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(String(literal))
  if (match === null) throw new Error(`not an amount of at most two decimals: ${String(literal)}`)
  const value = BigInt(match[2] ?? '') * 100n + BigInt((match[3] ?? '').padEnd(2, '0'))
  return match[1] === '-' ? -value : value
}

export type Balance = { readonly posted: bigint; readonly reserved: bigint; readonly available: bigint }

export async function balanceOf(client: Client, currency = 'EUR'): Promise<Balance> {
  const answer = await client.get('/v1/accounts')
  success(answer)
  const account = listAt(answer.literals).find((item) => item.currency === currency)
  if (account === undefined) throw new Error(`no balance in ${currency}: ${answer.text}`)
  return { posted: cents(account.posted), reserved: cents(account.reserved), available: cents(account.available) }
}

export async function transactionOf(client: Client, reference: string): Promise<JsonObject> {
  return success(await client.get(`/v1/transactions/${encodeURIComponent(reference)}`))
}

/** Waits until the transaction has a final status. */
export function finalTransaction(client: Client, reference: string): Promise<JsonObject> {
  return until(`the transaction ${reference} ends`, async () => {
    const transaction = await transactionOf(client, reference)
    return transaction.status !== 'Pending' && transaction
  })
}

const tokenPayee = {
  name: 'Grace Hopper',
  currency: 'USDC',
  walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
}

/** Sends 1,000 tokens to a wallet on the simulated chain, and waits until they are credited. */
export async function simulateTokens(client: Client, wallet: string): Promise<void> {
  const deposit = { amount: 1000, confirmations: 3 }
  success(await client.post(`/v1/simulations/wallets/${wallet}/deposits`, deposit))
  await until('the tokens are credited', async () => {
    const { received } = success(await client.get(`/v1/wallets/${wallet}`))
    const accounts = success(await client.get('/v1/accounts'))
    return Number(received) > 0 && listAt(accounts).some(({ currency }) => currency === 'USDC')
  })
}

/** One resource of each kind that the example of an operation may name. */
export type World = Readonly<Record<Resource, string>>

/** A report that is ready, and a schedule. */
async function createReports(client: Client, member: string): Promise<Pick<World, 'report' | 'schedule'>> {
  const period = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
  const report = textAt(
    success(await client.post('/v1/reports', { kind: 'transactions', format: 'csv', ...period })),
    'id',
  )
  await until('the report is ready', async () => success(await client.get(`/v1/reports/${report}`)).status === 'Ready')
  const monthly = { kind: 'statement', format: 'pdf', currency: 'EUR', frequency: 'monthly', emails: [member] }
  const schedule = textAt(success(await client.post('/v1/reports/schedules', monthly)), 'id')
  return { report, schedule }
}

/** A payee that is verified before it is paid, and the balance that pays. */
async function createVerified(
  client: Client,
): Promise<Pick<World, 'balance' | 'verification' | 'verifiedBeneficiary' | 'verifiedPayout'>> {
  const payee = { name: 'Jean Bartik', iban: ibans.FR }
  const verification = textAt(success(await client.post('/v1/beneficiaries/verifications', payee)), 'id')
  const verifiedBeneficiary = textAt(await createBeneficiary(client, payee), 'id')
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(verifiedBeneficiary, '2.00')))
  await finalTransaction(client, textAt(paid, 'reference'))
  const [payout] = listAt(success(await client.get(`/v1/payouts?beneficiaryId=${verifiedBeneficiary}`)))
  const balances = listAt(success(await client.get('/v1/accounts')))
  const balance = textAt(balances.find(({ currency }) => currency === 'EUR') ?? {}, 'id')
  return { balance, verification, verifiedBeneficiary, verifiedPayout: textAt(payout ?? {}, 'id') }
}

async function depositFor(client: Client, customerId: string): Promise<void> {
  const deposit = { customerId, amount: 5, currency: 'EUR', outcome: 'completed' }
  const deposited = success(await client.post('/v1/simulations/deposits', deposit))
  await finalTransaction(client, textAt(deposited, 'reference'))
}

async function createQuotes(client: Client, customerId: string) {
  const quoted = { sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: 100, kind: 'held' }
  const held = async () => textAt(success(await client.post('/v1/fx/quotes', quoted)), 'id')
  const payee = await createBeneficiary(client, { customerId, currency: 'USD' })
  return { quote: await held(), payoutQuote: await held(), foreignBeneficiary: textAt(payee, 'id') }
}

/** Creates one resource of each kind and waits until all are final. `hookUrl` receives the deliveries. */
export async function createWorld(client: Client, hookUrl: string, service: OperatedPartner): Promise<World> {
  const customer = await createCustomer(client)
  const guid = textAt(customer, 'guid')
  const iban = textAt(success(await client.post(`/v1/customers/${guid}/account`)), 'iban')
  const beneficiary = textAt(await createBeneficiary(client, { customerId: guid }), 'id')
  const reference = textAt(
    success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '25.00'))),
    'reference',
  )
  const payouts = await listAll(client, '/v1/payouts')
  const payout = payouts.find((item) => item.reference === reference)
  const waiting = await createWaiting(client, service, beneficiary)
  const invited = await invite(client)
  const events = ['transaction.status.changed']
  const subscription = success(await client.post('/v1/webhooks', { url: hookUrl, events }))
  await finalTransaction(client, reference)
  const order = { amount: 5, currency: 'EUR', customerId: guid, idempotencyKey: randomUUID() }
  const session = success(await client.post('/v1/checkout/sessions', order))
  const hook = `/v1/webhooks/${textAt(subscription, 'id')}`
  const transfer = `{"amount":3.00,"currency":"EUR","iban":"${iban}"}`
  const credit = textAt(success(await client.post('/v1/simulations/credits', transfer)), 'creditId')
  await until('the transfer has arrived', async () => {
    const deposits = await listAll(client, '/v1/transactions', `&customerId=${guid}&category=Deposit`)
    return deposits.some(({ status }) => status === 'Completed')
  })
  await depositFor(client, guid)
  const delivery = await until('a delivery is made', async () => {
    const [first] = (await listAll(client, `${hook}/deliveries`)).filter(({ status }) => status === 'Delivered')
    return first && textAt(first, 'eventId')
  })
  const since = new Date(Date.now() - 1000).toISOString()
  const wallet = success(await client.post('/v1/wallets', { customerId: guid, currency: 'USDC' }))
  const tokenBeneficiary = success(await client.post('/v1/beneficiaries', tokenPayee))
  await simulateTokens(client, textAt(wallet, 'id'))
  const recovery = textAt(success(await client.post(`${hook}/recover`, { since })), 'id')
  await until('the recovery is done', async () =>
    (await listAll(client, `${hook}/recoveries`)).every(({ status }) => status === 'Completed'),
  )
  const reports = await createReports(client, invited.member)
  await setSingleSignOn(client)
  return {
    ...(await createAccounts(client)),
    ...reports,
    ...waiting,
    ...(await createVerified(client)),
    customer: guid,
    user: await createMember(client, service),
    removable: await createMember(client, service),
    ...(await createProved(client, guid, createCustomer)),
    serviceId: textAt(customer, 'serviceId'),
    beneficiary,
    payout: textAt(payout ?? {}, 'id'),
    bulk: await endedBulk(client, payoutText(beneficiary, '1.00')),
    ...(await createOrders(client, beneficiary)),
    ...(await createRecalls(client, beneficiary)),
    reference,
    ...invited,
    ...(await createTokenMonitor(client)),
    subscription: textAt(subscription, 'id'),
    delivery,
    ...(await createNewest(client)),
    iban,
    credit,
    recovery,
    ...{ session: textAt(session, 'sessionId'), ...(await createRefunded(client, guid)) },
    ...(await createLate(client, guid)),
    ...(await createQuotes(client, guid)),
    wallet: textAt(wallet, 'id'),
    ...(await createOwnershipProof(client, guid)),
    tokenBeneficiary: textAt(tokenBeneficiary, 'id'),
  }
}

/** A proof that waits for the signature of a wallet, and that signature. */
async function createOwnershipProof(
  client: Client,
  customerId: string,
): Promise<Pick<World, 'ownershipProof' | 'ownershipSignature'>> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const proof = success(await client.post('/v1/wallets/ownership-proofs', { customerId, address: wallet.address }))
  const ownershipSignature = await wallet.signMessage({ message: textAt(proof, 'message') })
  return { ownershipProof: textAt(proof, 'id'), ownershipSignature }
}

async function createNewest(client: Client) {
  const [event = {}] = listAt(success(await client.get('/v1/events?order=newest&limit=1')))
  const loggedRequest = await until('a request is logged', async () => {
    const [request] = listAt(success(await client.get('/v1/requests?limit=1')))
    return request && textAt(request, 'id')
  })
  return { event: textAt(event, 'id'), loggedRequest }
}

/** Actions of the operator for a partner. */
type OperatedPartner = Team & {
  readonly credentials: { readonly partnerId: string }
  readonly operator: (...words: readonly string[]) => Promise<JsonObject>
  readonly clientOf: (credentials: JsonObject) => Client
}

/** Payouts above an amount from which on a second person approves: two of another account, and one that its creator cancels. */
async function createWaiting(
  client: Client,
  { credentials: { partnerId }, operator, clientOf }: OperatedPartner,
  beneficiary: string,
): Promise<Pick<World, 'held' | 'heldToReject' | 'heldBulk' | 'heldBulkToReject' | 'cancelled'>> {
  const rule = ['--currency', 'EUR', '--above', '100000.00', '--above-bulk', '5000.00']
  await operator('approval', 'set', '--partner', partnerId, ...rule)
  // So high that it refuses nothing.
  const limit = ['--scope', 'partner', '--period', 'payment', '--currency', 'EUR', '--amount', '999999999999.00']
  await operator('limit', 'set', '--partner', partnerId, ...limit)
  const permissions = ['--permissions', 'payouts:read,payouts:write']
  const other = clientOf(
    await operator('service-account', 'create', '--partner', partnerId, '--name', 'Payroll', ...permissions),
  )
  const hold = async (by: Client) => {
    const body = payoutText(beneficiary, '100000.01')
    return idOfPayout(by, textAt(success(await by.post('/v1/payouts/fiat', body)), 'reference'))
  }
  // It waits, so that no worker begins it before it is cancelled.
  const cancelled = await hold(client)
  success(await client.post(`/v1/payouts/${cancelled}/cancel`))
  const holdBulk = () => makeBulk(other, [payoutText(beneficiary, '2500.01'), payoutText(beneficiary, '2500.02')])
  return {
    ...{ held: await hold(other), heldToReject: await hold(other), cancelled },
    ...{ heldBulk: await holdBulk(), heldBulkToReject: await holdBulk() },
  }
}

/** The id of the payout with a reference. */
export async function idOfPayout(client: Client, reference: string): Promise<string> {
  const [payout] = listAt(success(await client.get(`/v1/payouts?reference=${encodeURIComponent(reference)}`)))
  return textAt(payout ?? {}, 'id')
}

/** The id of a new member of the team. */
async function createMember(client: Client, team: Team): Promise<string> {
  const person = { ...invitee(), role: 'Operator' }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  await joinByPassword(team, textAt(person, 'email'))
  const [user] = listAt(success(await client.get('/v1/users?limit=1')))
  return textAt(user ?? {}, 'userId')
}

async function invite(client: Client): Promise<Pick<World, 'invitation' | 'member'>> {
  const person = invitee()
  const invited = success(await client.post('/v1/users/invitations', { invitations: [person] }))
  const invitation = textAt(listAt(invited, 'invitations')[0] ?? {}, 'inviteId')
  return { invitation, member: textAt(person, 'email') }
}

async function createAccounts(
  client: Client,
): Promise<Pick<World, 'serviceAccount' | 'revocableAccount' | 'guestLink'>> {
  const guest = { email: uniqueEmail(), fullName: 'Joan Clarke', access: 'read' }
  const link = success(await client.post('/v1/users/guest-links', guest))
  return {
    guestLink: textAt(link, 'guestLinkId'),
    serviceAccount: await createServiceAccount(client),
    revocableAccount: await createServiceAccount(client),
  }
}

/** The id of a new service account. */
async function createServiceAccount(client: Client): Promise<string> {
  const permissions = ['payouts:read', 'payouts:write']
  const body = { name: 'Payroll', publicKeyPem: serviceAccounts.examplePublicKey, permissions }
  return textAt(success(await client.post('/v1/service-accounts', body)), 'serviceAccountId')
}

/** A provider of a domain that the sandbox takes as proved. */
export async function setSingleSignOn(client: Client): Promise<void> {
  const provider = {
    issuer: 'https://id.example.com',
    clientId: 'partner-payments',
    clientSecret: 'correct horse battery staple',
    emailDomain: 'acme.example',
  }
  success(await client.put('/v1/users/single-sign-on', provider))
  success(await client.post('/v1/users/single-sign-on/domain'))
}

/** A monitor of the tokens that has triggered. */
async function createTokenMonitor(client: Client): Promise<Pick<World, 'tokenBalance' | 'monitor'>> {
  const balances = listAt(success(await client.get('/v1/accounts')))
  const tokenBalance = textAt(balances.find(({ currency }) => currency === 'USDC') ?? {}, 'id')
  return { tokenBalance, monitor: await createMonitor(client, tokenBalance) }
}

/** The id of a monitor of a balance that is above one major unit. It has triggered. */
export async function createMonitor(client: Client, balance: string): Promise<string> {
  const path = `/v1/accounts/${balance}/monitors`
  const monitor = textAt(success(await client.post(path, { direction: 'Above', threshold: 1 })), 'id')
  await until('the monitor triggers', async () => {
    return success(await client.get(`${path}/${monitor}`)).state === 'Triggered'
  })
  return monitor
}

/** The last day of each month, from the next year on. */
export const monthly = (): JsonObject => ({
  frequency: 'Monthly',
  startsOn: `${new Date().getUTCFullYear() + 1}-01-01`,
  dayOfMonth: 31,
  time: '06:00',
  count: 24,
  businessDays: 'Preceding',
})

/** A schedule of one date, in two seconds. */
export function soon(): JsonObject {
  const time = new Date(Date.now() + 2000).toISOString()
  return { frequency: 'Once', startsOn: time.slice(0, 10), time: time.slice(11, 19), businessDays: 'None' }
}

/** The id of a new standing order. */
export async function createOrder(
  client: Client,
  beneficiaryId: string,
  schedule: JsonObject,
  amount = '1.00',
): Promise<string> {
  const rest = JSON.stringify({ beneficiaryId, currency: 'EUR', schedule })
  return textAt(success(await client.post('/v1/payouts/standing-orders', `{"amount":${amount},${rest.slice(1)}`)), 'id')
}

async function createOrders(
  client: Client,
  beneficiary: string,
): Promise<Pick<World, 'standingOrder' | 'endedOrder' | 'madeOrder'>> {
  const madeOrder = await createOrder(client, beneficiary, soon())
  const standingOrder = await createOrder(client, beneficiary, monthly())
  const endedOrder = await createOrder(client, beneficiary, monthly())
  success(await client.post(`/v1/payouts/standing-orders/${endedOrder}/cancel`))
  const executions = `/v1/payouts/standing-orders/${madeOrder}/executions`
  const reference = await until('the payout of the standing order is made', async () => {
    const [execution] = await listAll(client, executions)
    return execution && textAt(execution, 'reference')
  })
  await finalTransaction(client, reference)
  return { standingOrder, endedOrder, madeOrder }
}

/** The id of a payout that is settled. */
export async function settledPayout(client: Client, beneficiary: string, amount: string): Promise<string> {
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, amount)))
  await finalTransaction(client, textAt(paid, 'reference'))
  return idOfPayout(client, textAt(paid, 'reference'))
}

async function createRecalls(
  client: Client,
  beneficiary: string,
): Promise<Pick<World, 'recallable' | 'recalled' | 'recall'>> {
  const recallable = await settledPayout(client, beneficiary, '3.00')
  const recalled = await settledPayout(client, beneficiary, '4.00')
  const path = `/v1/payouts/${recalled}/recall`
  const recall = textAt(success(await client.post(path, { reason: 'DUPL', text: 'Paid twice.' })), 'id')
  await until('the money is back', async () => 'returnedAt' in success(await client.get(`${path}s/${recall}`)))
  return { recallable, recalled, recall }
}

export function invitee(): JsonObject {
  return { email: uniqueEmail(), fullName: 'Joan Clarke', role: 'Operator' }
}

/** Everything that a partner can read, without the time at which the balances were read. */
export async function snapshot(client: Client): Promise<JsonObject> {
  const lists = ['customers', 'beneficiaries', 'payouts', 'transactions', 'users/invitations', 'webhooks']
  const read = await Promise.all(lists.map((list) => listAll(client, `/v1/${list}`)))
  const accounts = await client.get('/v1/accounts')
  const balances = listAt(accounts.literals).map(({ asOf: _asOf, ...rest }) => rest as JsonObject)
  return { ...Object.fromEntries(lists.map((list, at) => [list, read[at] ?? []])), balances }
}
