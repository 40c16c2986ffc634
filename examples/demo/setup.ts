/** The morning: what has to be there before money can move. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client, Customer } from '@partner-payments/sdk'
import { eventNames } from './causes.ts'
import { ada, engines, type Payee, payees } from './people.ts'
import type { Print } from './print.ts'
import type { Receiver } from './receiver.ts'
import type { Until } from './until.ts'

export type Stage = {
  readonly client: Client
  readonly receiver: Receiver
  readonly dataDir: string
  readonly print: Print
  readonly until: Until
}

export type Cast = {
  readonly subscriptionId: string
  readonly ada: string
  readonly engines: string
  readonly payees: Readonly<Record<Payee, string>>
}

export async function setUp(stage: Stage): Promise<Cast> {
  const subscriptionId = await subscribe(stage)
  const first = await createCustomer(stage, ada)
  const second = await createCustomer(stage, engines)
  await updateKyc(stage, first)
  const owners = { ada: first.guid, engines: second.guid, partner: undefined }
  const ids = {} as Record<Payee, string>
  for (const [payee, { owner, ...body }] of Object.entries(payees)) {
    const beneficiary = await stage.client.createBeneficiary({ ...body, customerId: owners[owner] })
    const whose = owner === 'partner' ? "the partner's own" : `of customer-${owner}`
    stage.print('beneficiary', `${body.name}, ${body.iban}, ${body.currency}, ${whose}`)
    ids[payee as Payee] = beneficiary.id
  }
  await invite(stage)
  return { subscriptionId, ada: first.guid, engines: second.guid, payees: ids }
}

async function subscribe({ client, receiver, print }: Stage): Promise<string> {
  const { data } = await client.listEventTypes()
  const listed = data.filter(({ emitted }) => emitted).map(({ name }) => name)
  expect('the event types', listed.toSorted().join(), eventNames.toSorted().join())
  print('webhooks', `${listed.length} event types are listed`)
  const { id, secret } = await client.createSubscription({ url: receiver.url, events: eventNames })
  receiver.useSecret(secret ?? '')
  print('webhooks', `${receiver.url} is subscribed to all of them`)
  return id
}

async function createCustomer({ client, print }: Stage, body: typeof ada): Promise<Customer> {
  const customer = await client.createCustomer(body)
  const { fullName, legalName, customerType } = customer.kyc
  print('customer', `${fullName ?? legalName}, ${customerType}, ${customer.serviceId}`)
  const { ibans } = await client.createCustomerAccount(customer.guid)
  print('account', ibans.map(({ iban }) => iban).join(', '))
  return customer
}

/** A merge; the identification number goes in and never comes back. */
async function updateKyc({ client, print }: Stage, { guid }: Customer): Promise<void> {
  const kyc = { personalIdentificationNumber: 'QQ654321C', city: 'London', mobilePhone: null }
  const updated = await client.updateCustomer(guid, { kyc })
  for (const seen of [updated, await client.getCustomer(guid)]) {
    expect('the city', seen.kyc.city, 'London')
    expect('the phone, cleared', seen.kyc.mobilePhone, undefined)
    expect('the name, kept', seen.kyc.fullName, ada.kyc?.fullName ?? undefined)
    expect('the number in an answer', /QQ\d{6}C|personalIdentificationNumber/.test(JSON.stringify(seen)), false)
  }
  print('customer', 'KYC updated; the personal identification number does not come back')
}

async function invite({ client, dataDir, print, until }: Stage): Promise<void> {
  const email = 'charles@example.com'
  const redirectUrl = 'https://partner.example/join'
  const { invitations } = await client.createInvitations({
    invitations: [{ email, fullName: 'Charles Babbage', role: 'Operator', redirectUrl }],
  })
  expect('the status of the invitation', invitations[0]?.status, 'Pending')
  const eventOutbox = join(dataDir, 'mailbox')
  const mail = await until(`a mail to ${email} in ${eventOutbox}`, async () =>
    (await readdir(eventOutbox).catch(() => [])).find((name) => name.endsWith(`${email}.eml`)),
  )
  const link = /^X-Invitation-Link: (\S+)$/m.exec(await readFile(join(eventOutbox, mail), 'utf8'))?.[1]
  expect(`the link in ${mail}`, link?.split('?')[0], redirectUrl)
  print('invitation', `${email} as Operator; the mail is mailbox/${mail}`)
}

export function expect<T>(what: string, actual: T, wanted: T): void {
  if (actual !== wanted) throw new Error(`${what}: ${String(actual)}, not ${String(wanted)}`)
}
