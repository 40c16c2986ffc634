/** Creates what payments need: a webhook subscription, customers, beneficiaries and an invitation. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client, Customer } from '@partner-payments/sdk'
import { eventNames } from './causes.ts'
import { ada, engines, type Payee, payees } from './people.ts'
import type { Print } from './print.ts'
import type { Receiver } from './receiver.ts'
import type { Until } from './until.ts'

export type Context = {
  readonly client: Client
  readonly receiver: Receiver
  readonly dataDir: string
  readonly print: Print
  readonly until: Until
}

export type Parties = {
  readonly subscriptionId: string
  readonly ada: string
  readonly engines: string
  readonly payees: Readonly<Record<Payee, string>>
}

export async function setUp(context: Context): Promise<Parties> {
  const subscriptionId = await subscribe(context)
  const first = await createCustomer(context, ada)
  const second = await createCustomer(context, engines)
  await updateKyc(context, first)
  const owners = { ada: first.guid, engines: second.guid, partner: undefined }
  const ids = {} as Record<Payee, string>
  for (const [payee, { owner, ...body }] of Object.entries(payees)) {
    const beneficiary = await context.client.beneficiaries.create({ ...body, customerId: owners[owner] })
    const whose = owner === 'partner' ? "the partner's own" : `of customer-${owner}`
    context.print('beneficiary', `${body.name}, ${body.iban}, ${body.currency}, ${whose}`)
    ids[payee as Payee] = beneficiary.id
  }
  await invite(context)
  return { subscriptionId, ada: first.guid, engines: second.guid, payees: ids }
}

async function subscribe({ client, receiver, print }: Context): Promise<string> {
  const { data } = await client.webhooks.listEventTypes()
  const listed = data.filter(({ emitted }) => emitted).map(({ name }) => name)
  expect('the event types', eventNames.filter((name) => listed.includes(name)).join(), eventNames.join())
  print('webhooks', `${listed.length} event types are listed`)
  const { id, secret } = await client.webhooks.create({ url: receiver.url, events: eventNames })
  receiver.useSecret(secret ?? '')
  print('webhooks', `${receiver.url} is subscribed to all event types`)
  return id
}

async function createCustomer({ client, print }: Context, body: typeof ada): Promise<Customer> {
  const customer = await client.customers.create(body)
  const { fullName, legalName, customerType } = customer.kyc
  print('customer', `${fullName ?? legalName}, ${customerType}, ${customer.serviceId}`)
  const { ibans } = await client.accounts.createForCustomer(customer.guid)
  print('account', ibans.map(({ iban }) => iban).join(', '))
  return customer
}

/** Merges KYC fields. No answer contains the identification number. */
async function updateKyc({ client, print }: Context, { guid }: Customer): Promise<void> {
  const kyc = { personalIdentificationNumber: 'QQ654321C', city: 'London', mobilePhone: null }
  const updated = await client.customers.update(guid, { kyc })
  for (const returned of [updated, await client.customers.get(guid)]) {
    expect('the city', returned.kyc.city, 'London')
    expect('the phone, cleared', returned.kyc.mobilePhone, undefined)
    expect('the name, kept', returned.kyc.fullName, ada.kyc?.fullName ?? undefined)
    expect('the number in an answer', /QQ\d{6}C|personalIdentificationNumber/.test(JSON.stringify(returned)), false)
  }
  print('customer', 'KYC updated; no answer contains the personal identification number')
}

async function invite({ client, dataDir, print, until }: Context): Promise<void> {
  const email = 'charles@example.com'
  const redirectUrl = 'https://partner.example/join'
  const { invitations } = await client.users.createInvitations({
    invitations: [{ email, fullName: 'Charles Babbage', role: 'Operator', redirectUrl }],
  })
  expect('the status of the invitation', invitations[0]?.status, 'Pending')
  const mailbox = join(dataDir, 'mailbox')
  const mail = await until(`a mail to ${email} in ${mailbox}`, async () =>
    (await readdir(mailbox).catch(() => [])).find((name) => name.endsWith(`${email}.eml`)),
  )
  const link = /^X-Invitation-Link: (\S+)$/m.exec(await readFile(join(mailbox, mail), 'utf8'))?.[1]
  expect(`the link in ${mail}`, link?.split('?')[0], redirectUrl)
  print('invitation', `${email} as Operator; the mail is mailbox/${mail}`)
}

export function expect<T>(what: string, actual: T, expected: T): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)}, expected ${String(expected)}`)
}
