/** Webhooks: the list of endpoints, the page of one, and the forms that enable it and send an event again. */
import { type ResponseOf, subscribedIn, webhooks } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { newWebhookPage, secretPage, type WebhookDraft } from './new-webhook-page.ts'
import {
  callOf,
  listed,
  pagesOf,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
  textsWith,
} from './payments-request.ts'
import { type Frame, idOf, page, type Visitor, readForm, type GuestPages, seeOther, uuid } from './request.ts'
import { developerTexts } from './texts/developers.ts'
import { paymentTexts } from './texts/payments.ts'
import {
  deliveryFilters,
  type DeliveryRow,
  type TestOfWebhook,
  webhookPage,
  type WebhookRow,
  webhooksPage,
} from './webhooks-page.ts'

const rowOf = ({ id, url, events, extensionEvents, status, createdAt }: ResponseOf<'getSubscription'>): WebhookRow => ({
  ...{ id, url, events: [...events, ...extensionEvents], status },
  createdAt: new Date(createdAt),
})

const deliveryOf = (delivery: ResponseOf<'getDelivery'>): DeliveryRow => {
  const { eventId, eventType, reference, status, createdAt, attempts } = delivery
  return {
    ...{ eventId, eventType, reference, status },
    createdAt: new Date(createdAt),
    attempts: attempts.map((each) => ({ ...each, startedAt: new Date(each.startedAt) })),
    idempotencyKey: newId(),
  }
}

/** Words of the refusals: those of all pages, and those of webhooks. */
const refusalTexts = (person: Visitor) => textsWith(person, developerTexts)

const mayWriteOf = ({ caller }: Visitor) => caller.permissions.includes('webhooks:write')

async function showList({ operate }: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const { done } = readQuery(request, ['done'])
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listSubscriptions', { ...callOf(person, request), query: queryText(query) }),
  )
  const own = {
    ...{ ...shown, rows: data.map(rowOf), mayWrite: mayWriteOf(person) },
    hasGuests: person.caller.permissions.includes('users:read'),
    done: done === 'deleted' ? ('deleted' as const) : undefined,
  }
  return page(request, 200, webhooksPage({ ...person.view, current: 'webhooks' }, own))
}

async function showOne(
  { operate }: Frame,
  request: PublicRequest,
  person: Visitor,
  after: { readonly test?: TestOfWebhook; readonly refused?: Problems } = {},
): Promise<PublicAnswer> {
  const { view } = person
  const id = idOf(request)
  const values = readQuery(request, deliveryFilters)
  const { cursor, done } = readQuery(request, ['cursor', 'done'])
  const call = { ...callOf(person, request), params: { id } }
  const found = await operate('getSubscription', call)
  const statistics = await operate('getSubscriptionStatistics', call)
  const { delivered, pending, held, capped, failingSince } = statistics
  const deliveries = await listed(paymentTexts[view.language], deliveryFilters, () =>
    operate('listDeliveries', { ...call, query: queryText({ ...values, cursor }) }),
  )
  const problems = { ...deliveries.problems, ...after.refused }
  const shown = {
    ...rowOf(found),
    ...{ note: found.description, signature: found.signature, reason: found.disabledReason },
    failingSince: failingSince === null ? undefined : new Date(failingSince),
    counts: { delivered, pending, held },
    isCapped: capped,
    deliveries: deliveries.data.map(deliveryOf),
    ...{ values, problems, pages: pagesOf(`${view.root}webhooks/${id}`, values, cursor, deliveries.nextCursor) },
    ...{ mayWrite: mayWriteOf(person), idempotencyKey: newId(), test: after.test },
    done: (['enabled', 'redelivered'] as const).find((each) => each === done),
  }
  return page(request, statusOf(problems), webhookPage({ ...view, current: 'webhooks' }, shown))
}

async function showNew(
  { operate }: Frame,
  request: PublicRequest,
  person: Visitor,
  draft: WebhookDraft = { url: '', description: '', events: [], idempotencyKey: newId() },
  problems: Problems = {},
): Promise<PublicAnswer> {
  const { data } = await operate('listEventTypes', callOf(person, request))
  const types = data.map(({ name, description }) => ({ name, description }))
  const view = { ...person.view, current: 'webhooks' }
  return page(request, statusOf(problems), newWebhookPage(view, { draft, types, problems }))
}

/** Creates an endpoint. The page that shows the secret is the answer, because no later request can show it. */
async function create(frame: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const given = readForm(request)
  const draft = {
    url: given('url').trim(),
    description: given('description').trim(),
    events: new URLSearchParams(request.body.toString('utf8')).getAll('events'),
    idempotencyKey: given('idempotencyKey') || newId(),
  }
  const { url, description, events, idempotencyKey } = draft
  // One list on the page: each type goes into the field that delivers it.
  const extensionEvents = events.filter((name) => subscribedIn(name) === 'extensionEvents')
  const body = {
    url,
    ...(description === '' ? {} : { description }),
    events: events.length === 0 ? [webhooks.allEvents] : events.filter((name) => !extensionEvents.includes(name)),
    extensionEvents,
  }
  try {
    const created = await frame.operate('createSubscription', { ...callOf(person, request), body, idempotencyKey })
    return page(
      request,
      200,
      secretPage({ ...person.view, current: 'webhooks' }, { ...created, secret: created.secret }),
    )
  } catch (error) {
    const problems = problemsOf(refusalTexts(person), error, ['url', 'description', 'events'])
    return showNew(frame, request, person, { ...draft, idempotencyKey: newId() }, problems)
  }
}

/** Makes a new signing secret. */
async function rotate({ operate }: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { id: idOf(request) } }
  const { id, url } = await operate('getSubscription', call)
  const idempotencyKey = readForm(request)('idempotencyKey') || newId()
  const { secret } = await operate('rotateSecret', { ...call, body: {}, idempotencyKey })
  return page(request, 200, secretPage({ ...person.view, current: 'webhooks' }, { id, url, secret }))
}

export const webhookRoutes: GuestPages = (frame, withVisitor) => {
  const { operate } = frame
  const route = routesOf(frame, withVisitor, 'webhooks')
  type Act = (request: PublicRequest, person: Visitor) => Promise<PublicAnswer>
  /** A form of one endpoint. A refusal shows its page again. */
  const form = (name: string, act: Act): PublicRoute =>
    route('POST', `/{id}/${name}`, 'webhooks:write', async (_frame, request, person) => {
      try {
        return await act(request, person)
      } catch (error) {
        return showOne(frame, request, person, { refused: problemsOf(refusalTexts(person), error, []) })
      }
    })
  return [
    route('GET', '', 'webhooks:read', showList),
    route('GET', '/new', 'webhooks:write', showNew),
    route('POST', '/new', 'webhooks:write', create),
    route('GET', '/{id}', 'webhooks:read', showOne),
    form('enable', async (request, person) => {
      const id = idOf(request)
      await operate('enableSubscription', { ...callOf(person, request), params: { id } })
      return seeOther(`../${id}?done=enabled`)
    }),
    form('redeliver', async (request, person) => {
      const [id, given] = [idOf(request), readForm(request)]
      const eventId = given('eventId')
      if (!uuid.test(eventId)) throw notFound('page')
      const call = { ...callOf(person, request), params: { id, eventId } }
      await operate('redeliver', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
      return seeOther(`../${id}?done=redelivered`)
    }),
    {
      ...form('test', async (request, person) => {
        const call = { ...callOf(person, request), params: { id: idOf(request) }, body: {} }
        return showOne(frame, request, person, { test: await operate('testSubscription', call) })
      }),
      callsChosenHost: true,
    },
    form('rotate', (request, person) => rotate(frame, request, person)),
    form('delete', async (request, person) => {
      await operate('deleteSubscription', { ...callOf(person, request), params: { id: idOf(request) } })
      return seeOther('../../webhooks?done=deleted')
    }),
  ]
}
