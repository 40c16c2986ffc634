/**
 * Fills the examples of the reference with resources of the sandbox: each resource that an example names is found in a list, or created
 * by the example of another operation.
 */

/** Placeholder for a text that is new at each Execute, such as an idempotency key. */
const fresh = 'fresh-at-each-execute'
/** An unknown id, for which the answer is the documented 404. */
const unknownId = '00000000-0000-4000-8000-000000000000'
const triesMax = 30
const pauseMs = 300

/** Replaces the placeholders of new texts, equally in the header and in the body. */
export function refreshed(request) {
  const text = crypto.randomUUID().replaceAll('-', '')
  const renew = (value) => (typeof value === 'string' ? value.replaceAll(fresh, text) : value)
  const headers = Object.fromEntries(Object.entries(request.headers ?? {}).map(([name, value]) => [name, renew(value)]))
  return { ...request, url: renew(request.url), body: renew(request.body), headers }
}

const payment = (iban, name) => `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn><GrpHdr><MsgId>${fresh}</MsgId><CreDtTm>2026-01-15T09:00:00Z</CreDtTm><NbOfTxs>1</NbOfTxs><InitgPty><Nm>Acme</Nm></InitgPty></GrpHdr><PmtInf><PmtInfId>P-1</PmtInfId><PmtMtd>TRF</PmtMtd><ReqdExctnDt><Dt>2026-01-15</Dt></ReqdExctnDt><Dbtr><Nm>Acme</Nm></Dbtr><DbtrAcct><Id><Othr><Id>1</Id></Othr></Id></DbtrAcct><DbtrAgt><FinInstnId/></DbtrAgt><CdtTrfTxInf><PmtId><EndToEndId>E2E-1</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">1.00</InstdAmt></Amt><Cdtr><Nm>${name}</Nm></Cdtr><CdtrAcct><Id><IBAN>${iban}</IBAN></Id></CdtrAcct></CdtTrfTxInf></PmtInf></CstmrCdtTrfInitn></Document>`

const germanIban = 'DE89370400440532013000'

/** `call` sends a signed request and returns the JSON of its answer, or undefined if it is refused. */
export function createSources({ call, run, filled, resource }) {
  const listed = new Map()
  const list = (path) => {
    if (!listed.has(path))
      listed.set(
        path,
        call('GET', path).then((page) => page?.data ?? []),
      )
    return listed.get(path)
  }
  const found =
    (path, field, fits = () => true) =>
    async () =>
      (await list(path)).find(fits)?.[field]
  const made = (operation, field) => async () => (await run(operation))?.[field]
  const posted = (path, field, body) => async () => (await call('POST', path, await body()))?.[field]
  /** Repeats a request until its answer has the expected value. */
  const until = async (ask) => {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const answer = await ask()
      if (answer !== undefined) return answer
      await new Promise((done) => setTimeout(done, pauseMs))
    }
    return undefined
  }
  const first = async (path, fits = () => true) => ((await call('GET', path))?.data ?? []).find(fits)
  const paid = async (beneficiaryId) => {
    const body = { amount: 1, currency: 'EUR', beneficiaryId, idempotencyKey: crypto.randomUUID() }
    const { reference } = (await call('POST', '/v1/payouts/fiat', body)) ?? {}
    return (
      reference &&
      until(() =>
        first(`/v1/payouts?reference=${encodeURIComponent(reference)}`, ({ status }) => status === 'Completed'),
      )
    )
  }
  const payTo = (name) => async () => (await paid(await resource(name)))?.id
  const as = (name) => () => resource(name)
  const session = async () => (await run('createCheckoutSession'))?.sessionId
  const latePayments = async (id) => (await call('GET', `/v1/checkout/sessions/${id}`))?.latePayments ?? []
  return {
    balance: [found('/v1/accounts', 'id', ({ currency }) => currency === 'EUR')],
    tokenBalance: [
      found('/v1/accounts', 'id', ({ currency }) => currency === 'USDC'),
      async () => {
        await call('POST', `/v1/simulations/wallets/${await resource('wallet')}/deposits`, {
          amount: 1000,
          confirmations: 3,
        })
        return (await until(() => first('/v1/accounts', ({ currency }) => currency === 'USDC')))?.id
      },
    ],
    monitor: [made('createAccountMonitor', 'id')],
    customer: [
      async () => {
        const guid = (await found('/v1/customers', 'guid')()) ?? (await made('createCustomer', 'guid')())
        await call('POST', `/v1/customers/${guid}/account`)
        return guid
      },
    ],
    serviceId: [async () => (await call('GET', `/v1/customers/${await resource('customer')}`))?.serviceId],
    iban: [async () => (await call('GET', `/v1/customers/${await resource('customer')}/account`))?.iban],
    erasable: [made('createCustomer', 'guid')],
    unproved: [made('createCustomer', 'guid')],
    identityVerification: [
      async () => {
        const path = `/v1/customers/${await resource('customer')}/verifications`
        const body = (await filled('createIdentityVerification')).body
        return (await first(path))?.id ?? (await call('POST', path, body))?.id
      },
    ],
    beneficiary: [
      posted('/v1/beneficiaries', 'id', async () => ({
        name: 'Grace Hopper',
        iban: germanIban,
        currency: 'EUR',
        customerId: await resource('customer'),
      })),
    ],
    foreignBeneficiary: [
      posted('/v1/beneficiaries', 'id', async () => ({
        name: 'Grace Hopper',
        iban: germanIban,
        currency: 'USD',
        address: { city: 'Berlin', country: 'DE' },
        customerId: await resource('customer'),
      })),
    ],
    tokenBeneficiary: [
      found('/v1/beneficiaries', 'id', ({ walletAddress }) => walletAddress !== undefined),
      posted('/v1/beneficiaries', 'id', async () => ({
        name: 'Grace Hopper',
        currency: 'USDC',
        walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
      })),
    ],
    verification: [found('/v1/beneficiaries/verifications', 'id'), made('createBeneficiaryVerification', 'id')],
    verifiedBeneficiary: [
      async () => {
        const { name, iban } =
          (await call('GET', `/v1/beneficiaries/verifications/${await resource('verification')}`)) ?? {}
        return (await call('POST', '/v1/beneficiaries', { name, iban, currency: 'EUR' }))?.id
      },
    ],
    verifiedPayout: [payTo('verifiedBeneficiary')],
    payout: [found('/v1/payouts?status=Completed', 'id'), payTo('beneficiary')],
    reference: [async () => (await call('GET', `/v1/payouts/${await resource('payout')}`))?.reference],
    // Payouts wait only if the operator has set approvals. Otherwise the answer is the documented 409.
    ...Object.fromEntries(['cancelled', 'held', 'heldToReject'].map((name) => [name, [as('payout')]])),
    ...Object.fromEntries(['heldBulk', 'heldBulkToReject'].map((name) => [name, [as('bulk')]])),
    recallable: [payTo('beneficiary')],
    recalled: [payTo('beneficiary')],
    recall: [
      async () => (await call('POST', `/v1/payouts/${await resource('recalled')}/recall`, { reason: 'DUPL' }))?.id,
    ],
    bulk: [found('/v1/payouts/bulk', 'id', ({ status }) => status === 'Completed'), made('createBulkPayout', 'id')],
    standingOrder: [made('createStandingOrder', 'id')],
    endedOrder: [
      async () => {
        const id = (await run('createStandingOrder'))?.id
        return (await call('POST', `/v1/payouts/standing-orders/${id}/cancel`))?.id
      },
    ],
    madeOrder: [as('standingOrder')],
    quote: [
      posted('/v1/fx/quotes', 'id', async () => ({
        sellCurrency: 'EUR',
        buyCurrency: 'USD',
        sellAmount: 100,
        kind: 'held',
      })),
    ],
    payoutQuote: [
      posted('/v1/fx/quotes', 'id', async () => ({
        sellCurrency: 'EUR',
        buyCurrency: 'USD',
        sellAmount: 100,
        kind: 'held',
      })),
    ],
    invitation: [async () => (await run('createInvitations'))?.invitations?.[0]?.inviteId],
    member: [async () => (await call('GET', `/v1/users/invitations/${await resource('invitation')}`))?.email],
    // The page cannot create people: people join only by the mail of an invitation.
    user: [found('/v1/users', 'userId')],
    removable: [found('/v1/users', 'userId')],
    // Never the account of the page, because a rotation or an expiry would lock it out.
    serviceAccount: [made('createServiceAccount', 'serviceAccountId')],
    revocableAccount: [made('createServiceAccount', 'serviceAccountId')],
    guestLink: [made('createGuestLink', 'guestLinkId')],
    subscription: [made('createSubscription', 'id')],
    delivery: [
      async () => {
        const hook = `/v1/webhooks/${await resource('subscription')}`
        await run('simulateEvent')
        return (await until(() => first(`${hook}/deliveries`)))?.eventId
      },
    ],
    event: [found('/v1/events?order=newest&limit=1', 'id')],
    recovery: [made('startRecovery', 'id')],
    credit: [made('simulateCredit', 'creditId')],
    report: [
      async () => {
        const id = (await run('createReport'))?.id
        return (
          id && (await until(() => first('/v1/reports', (report) => report.id === id && report.status === 'Ready')))?.id
        )
      },
    ],
    schedule: [made('createReportSchedule', 'id')],
    session: [session],
    paidSession: [
      async () => {
        const id = await session()
        await call('POST', `/v1/simulations/checkout/sessions/${id}`, { outcome: 'completed' })
        await until(async () => {
          const { status } = (await call('GET', `/v1/checkout/sessions/${id}`)) ?? {}
          return status === 'Completed' || status === undefined ? (status ?? 'gone') : undefined
        })
        return id
      },
    ],
    lateSession: [
      async () => {
        const id = await session()
        await call('POST', `/v1/checkout/sessions/${id}/expire`)
        for (let sent = 0; sent < 2; sent += 1)
          await call('POST', `/v1/simulations/checkout/sessions/${id}`, { step: 'credit' })
        await until(async () => ((await latePayments(id)).length === 2 ? id : undefined))
        return id
      },
    ],
    latePayment: [async () => (await latePayments(await resource('lateSession')))[0]?.latePaymentId],
    latePaymentToReturn: [async () => (await latePayments(await resource('lateSession')))[1]?.latePaymentId],
    link: [found('/v1/checkout/links', 'linkId'), made('createPaymentLink', 'linkId')],
    refund: [made('createCheckoutRefund', 'refundId'), made('createCheckoutRefund', 'id')],
    wallet: [
      found('/v1/wallets', 'id', ({ currency }) => currency === 'USDC'),
      posted('/v1/wallets', 'id', async () => ({ customerId: await resource('customer'), currency: 'USDC' })),
    ],
    ownershipProof: [made('createOwnershipProof', 'id')],
    // Not of the wallet, whose key the page does not have: the answer is the documented 400.
    ownershipSignature: [() => `0x${'ab'.repeat(65)}`],
    loggedRequest: [() => until(async () => (await first('/v1/requests?limit=1'))?.id)],
  }
}

/** Fills the examples of the operations with resources of the sandbox. */
export async function filledExamples(call, examples) {
  const known = new Map()
  const resource = (name) => {
    if (!known.has(name))
      known.set(
        name,
        (async () => {
          for (const source of sources[name] ?? []) {
            const value = await source()
            if (value !== undefined) return value
          }
          return unknownId
        })(),
      )
    return known.get(name)
  }
  const fill = async (value) => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return Promise.all(value.map(fill))
    if (value.fill === undefined)
      return Object.fromEntries(
        await Promise.all(Object.entries(value).map(async ([name, each]) => [name, await fill(each)])),
      )
    if (value.fill === 'resource') return resource(value.resource)
    if (value.fill === 'email') return `${fresh}@example.com`
    if (value.fill === 'time') return new Date(Date.now() - value.secondsAgo * 1000).toISOString()
    if (value.fill === 'newYear') return `${new Date().getUTCFullYear() + 1}-01-01`
    return value.fill === 'pain001' ? payment(germanIban, 'Grace Hopper') : fresh
  }
  const run = async (id) => {
    const { method, path, params, body } = await fill(examples[id])
    const sent = refreshed({ url: pathOf(path, params), body: JSON.stringify(body) })
    return call(method, sent.url, sent.body && JSON.parse(sent.body))
  }
  const sources = createSources({ call, run, resource, filled: (id) => fill(examples[id]) })
  const entries = Object.entries(examples).map(async ([id, example]) => [id, await fill(example)])
  return Object.fromEntries(await Promise.all(entries))
}

const pathOf = (path, params = {}) => path.replace(/\{(\w+)\}/g, (_match, name) => encodeURIComponent(params[name]))

/** Returns the document with these examples in its parameters and bodies. */
export function withExamples(document, examples) {
  for (const methods of Object.values(document.paths))
    for (const operation of Object.values(methods)) {
      const { params = {}, query = {}, body } = examples[operation.operationId] ?? {}
      for (const parameter of operation.parameters ?? []) {
        const value = { path: params, query }[parameter.in]?.[parameter.name]
        if (value !== undefined) parameter.example = value
      }
      const content = operation.requestBody?.content['application/json']
      if (content !== undefined && body !== undefined) content.example = body
    }
  document.components.parameters.IdempotencyKey.example = fresh
  return document
}
