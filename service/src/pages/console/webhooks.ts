/** Webhook endpoints: the list, the form that creates one, and the page of an endpoint with its deliveries. */
import { type ResponseOf, subscriptionField, webhooks, urlCharsMax } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { newId, uuidPattern } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmationDialog,
  choiceCard,
  type Draft,
  emptyForm,
  fieldGroup,
  formPage,
  hiddenField,
  dialogButton,
  toSelectOptions,
  postButton,
  type FieldProblems,
  type FormState,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { filterForm, list, type ListRows, listPage, type PageLinks } from '../kit/lists.ts'
import { badge, apiCall, copyBlock, facts, message, summaryStrip, table, time } from '../kit/parts.ts'
import {
  readCompletedForm,
  readId,
  page,
  pageLinks,
  queryText,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import {
  callOf,
  type Frame,
  type Routes,
  readPage,
  may,
  refusalProblems,
  readList,
  placeRoutes,
  textsWithRefusals,
  type Visitor,
  createWithVisitor,
} from './request.ts'
import { texts } from './texts/index.ts'

type WebhookRow = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly status: 'Enabled' | 'Disabled'
  readonly createdAt: Date
}

const createCall = `POST /v1/webhooks
{ "url": "https://partner.example.com/hooks", "events": ["*"] }`

const statusBadge = (view: ConsoleView, status: WebhookRow['status']): Html =>
  badge(status === 'Enabled' ? 'good' : 'bad', texts[view.language].developers.subscriptionStatus[status])

type WebhookList = ListRows<WebhookRow> & {
  readonly mayWrite: boolean
  /** True if the person may see the guest links. */
  readonly hasGuests: boolean
  readonly done?: 'deleted' | undefined
}

export function webhooksPage(view: ConsoleView, { rows, mayWrite, hasGuests, done, ...shown }: WebhookList): string {
  const d = texts[view.language].developers
  const guests = html`<a class="button" href="${view.root}webhooks/guests">${texts[view.language].guests.button}</a>`
  return listPage(view, shown, {
    title: view.t.webhooks,
    path: 'webhooks',
    lead: d.lead,
    done: done && d[done],
    ...(hasGuests && { links: guests }),
    filters: [{ name: 'show', label: d.show, options: [['failing', view.t.failingWebhooks]] }],
    create: mayWrite && { text: d.newWebhook, href: `${view.root}webhooks/new` },
    columns: [[d.url, 'head'], d.events, d.status, d.created],
    cells: rows.map(({ id, url, events, status, createdAt }) => [
      html`<a href="${view.root}webhooks/${id}">${url}</a>`,
      events.join(', '),
      statusBadge(view, status),
      time(view, createdAt, 'date'),
    ]),
    none: { title: d.empty, text: d.emptyText, more: apiCall(view, createCall, d.createCall) },
  })
}

const deliveryFilters: readonly string[] = ['status']

export type DeliveryRow = {
  readonly eventId: string
  readonly eventType: string
  readonly reference: string
  readonly status: 'Pending' | 'Delivered' | 'Held'
  readonly createdAt: Date
  readonly attempts: readonly {
    readonly startedAt: Date
    readonly status?: number | undefined
    readonly error?: string | undefined
    readonly responseBody?: string | undefined
  }[]
  /** Idempotency key of the form that redelivers, so that a double click sends the event only once. */
  readonly idempotencyKey: string
}

type WebhookView = WebhookRow &
  FormState & {
    readonly creator?: CreatorFact | undefined
    readonly note?: string | undefined
    readonly signature: string
    readonly reason?: 'Partner' | 'Gone' | 'Failing' | undefined
    readonly failingSince?: Date | undefined
    readonly counts: { readonly delivered: number; readonly pending: number; readonly held: number }
    /** True if counting stopped early: each count is a lower bound. */
    readonly isCapped: boolean
    readonly deliveries: readonly DeliveryRow[]
    readonly pages: PageLinks
    readonly mayWrite: boolean
    /** Idempotency key of the form that rotates the secret, so that a double click creates only one secret. */
    readonly idempotencyKey: string
    readonly done?: 'enabled' | 'redelivered' | undefined
    readonly test?: TestResult | undefined
  }

/** The result of a test delivery. */
type TestResult = {
  readonly delivered: boolean
  readonly durationMs: number
  readonly status?: number | undefined
  readonly error?: string | undefined
  readonly responseBody?: string | undefined
}

export function webhookPage(view: ConsoleView, webhook: WebhookView): string {
  const d = texts[view.language].developers
  const { id, url, status, counts, isCapped, done, values, problems, pages, mayWrite } = webhook
  const path = `${view.root}webhooks/${id}`
  const count = (n: number) => {
    const text = n.toLocaleString(view.language)
    return isCapped ? fill(d.atLeast, { count: text }) : text
  }
  return shell(view, {
    title: url,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', d[done])}
      <div class="heading">
        <h1>${url}</h1>
        ${mayWrite && webhookButtons(view, status, path)}
      </div>
      ${webhook.test && testResult(view, webhook.test)}
      ${summaryStrip([
        [d.status, statusBadge(view, status)],
        [d.delivered, count(counts.delivered)],
        [d.pending, count(counts.pending)],
        [d.held, count(counts.held)],
      ])}
      ${facts([
        [d.events, webhook.events.join(', ')],
        [d.signature, webhook.signature],
        [d.note, webhook.note],
        [d.disabled, webhook.reason && d.reason[webhook.reason]],
        [d.failingSince, webhook.failingSince && time(view, webhook.failingSince)],
        [d.created, time(view, webhook.createdAt)],
        ...creatorFacts(webhook),
      ])}
      <h2>${d.deliveries}</h2>
      ${filterForm(
        view,
        { values, problems },
        {
          path: `webhooks/${id}`,
          filters: [{ name: 'status', label: d.status, options: toSelectOptions(d.deliveryStatus) }],
        },
      )}
      ${list(view, {
        table: deliveryTable(view, webhook, path),
        isEmpty: webhook.deliveries.length === 0,
        isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
        none: {
          title: d.deliveriesEmpty,
          text: d.deliveriesEmptyText,
          more: apiCall(view, `GET /v1/webhooks/${id}/deliveries`, d.listCall),
        },
        pages,
      })}
      ${mayWrite && webhookDialogs(view, webhook, path)}`,
  })
}

const [rotateId, deleteId] = ['rotate', 'delete'] as const

const webhookButtons = (view: ConsoleView, status: WebhookRow['status'], path: string): Html => {
  const d = texts[view.language].developers
  return html`<div class="buttons">
    ${postButton(`${path}/test`, d.sendTest)}
    ${status === 'Disabled' && postButton(`${path}/enable`, d.enable, { look: 'primary' })}
  </div>`
}

function testResult(view: ConsoleView, { delivered, durationMs, status, error, responseBody }: TestResult): Html {
  const d = texts[view.language].developers
  const answered = { status: String(status), ms: String(durationMs) }
  const refused =
    status === undefined ? fill(d.testRefused, { reason: error ?? d.noAnswer }) : fill(d.testAnswered, answered)
  const text = delivered ? fill(d.testDelivered, answered) : refused
  return html`${message(delivered ? 'good' : 'bad', text)}
  ${responseBody && html`<pre tabindex="0"><code>${responseBody}</code></pre>`}`
}

/** Renders the dialogs that rotate the secret and delete the endpoint. */
function webhookDialogs(view: ConsoleView, { url, idempotencyKey }: WebhookView, path: string): Html {
  const d = texts[view.language].developers
  const ask = (id: string) => ({ id, action: `${path}/${id}`, cancel: view.t.cancel })
  return html`<p class="buttons">
      ${dialogButton({ id: rotateId, label: d.rotate, about: url })}
      ${dialogButton({ id: deleteId, label: d.deleteWebhook, about: url, tone: 'danger' })}
    </p>
    ${confirmationDialog({
      ...ask(rotateId),
      title: d.rotateTitle,
      effects: [d.rotateEffect, d.rotateOverlap],
      about: hiddenField('idempotencyKey', idempotencyKey),
      submit: d.rotate,
      look: 'primary',
    })}
    ${confirmationDialog({
      ...ask(deleteId),
      title: d.deleteTitle,
      effects: [d.deleteEffect, d.deleteFeed],
      submit: d.deleteWebhook,
    })}`
}

const tones = { Pending: 'warning', Delivered: 'good', Held: 'bad' } as const

export const deliveryBadge = ({ language }: ConsoleView, status: DeliveryRow['status']): Html =>
  badge(tones[status], texts[language].developers.deliveryStatus[status])

function deliveryTable(view: ConsoleView, { deliveries, mayWrite }: WebhookView, path: string): Html {
  const d = texts[view.language].developers
  return table({
    caption: d.deliveries,
    columns: [
      [d.event, 'head'],
      d.reference,
      d.status,
      d.created,
      d.attempts,
      ...(mayWrite ? [[view.t.actions, 'actions'] as const] : []),
    ],
    rows: deliveries.map((row) => [
      html`<span title="${row.eventId}">${row.eventType}</span>`,
      row.reference,
      deliveryBadge(view, row.status),
      time(view, row.createdAt),
      attemptList(view, row),
      ...(mayWrite
        ? [
            postButton(`${path}/redeliver`, d.redeliver, {
              look: 'small',
              about: row.reference,
              hidden: { eventId: row.eventId, idempotencyKey: row.idempotencyKey },
            }),
          ]
        : []),
    ]),
  })
}

export function attemptList(view: ConsoleView, { attempts }: Pick<DeliveryRow, 'attempts'>): Html | string {
  const d = texts[view.language].developers
  if (attempts.length === 0) return '0'
  return html`<details>
    <summary>${attempts.length}</summary>
    <ol>
      ${attempts.map(
        ({ startedAt, status, error, responseBody }) =>
          html`<li>
            ${time(view, startedAt)}: ${status ?? d.noAnswer} ${error}
            ${responseBody !== undefined && html`<pre tabindex="0"><code>${responseBody}</code></pre>`}
          </li>`,
      )}
    </ol>
  </details>`
}

/** `events`: the selected event types. Empty: every event type of the interface document. */
type NewWebhook = Draft & {
  readonly events: readonly string[]
  readonly types: readonly { readonly name: string; readonly description: string }[]
}

export function newWebhookPage(view: ConsoleView, draft: NewWebhook): string {
  const d = texts[view.language].developers
  return formPage(view, {
    ...draft,
    title: d.newWebhook,
    submit: d.createWebhook,
    action: 'webhooks/new',
    fields: [
      { name: 'url', label: d.url, help: d.urlHelp, charsMax: urlCharsMax, keys: 'url' },
      { name: 'description', label: d.note, help: d.noteHelp, charsMax: noteCharsMax, optional: true },
      eventChoices(view, draft),
    ],
    back: { path: 'webhooks', text: texts[view.language].payments.back },
  })
}

/** Maximum length of the description, as in the contract. */
const noteCharsMax = 255

function eventChoices({ language }: ConsoleView, { events, types, problems }: NewWebhook): Html {
  const d = texts[language].developers
  return fieldGroup({
    id: 'events',
    legend: d.events,
    help: d.eventsHelp,
    error: problems['events'],
    body: types.map(({ name, description }, at) =>
      choiceCard({
        type: 'checkbox',
        id: at === 0 ? 'events' : `events-${at}`,
        name: 'events',
        value: name,
        label: name,
        help: description,
        isChosen: events.includes(name),
      }),
    ),
  })
}

/**
 * Renders a new secret. `secret`: undefined if deliveries are signed with a key pair, whose private key never leaves
 * the service.
 */
export function secretPage(
  view: ConsoleView,
  { id, url, secret }: { readonly id: string; readonly url: string; readonly secret: string | undefined },
): string {
  const d = texts[view.language].developers
  return shell(view, {
    title: d.secretTitle,
    card: true,
    main: html`<h1>${d.secretTitle}</h1>
      <p class="lead">${url}</p>
      ${
        secret === undefined
          ? html`<p>${d.publicKeyShown}</p>`
          : html`<p>${d.secretOnce}</p>
              ${copyBlock(view, secret, d.secret)}`
      }
      <p class="foot"><a href="${view.root}webhooks/${id}">${d.openWebhook}</a></p>`,
  })
}

const webhookRow = ({
  id,
  url,
  events,
  extensionEvents,
  status,
  createdAt,
}: ResponseOf<'getSubscription'>): WebhookRow => ({
  id,
  url,
  events: [...events, ...extensionEvents],
  status,
  createdAt: new Date(createdAt),
})

const deliveryRow = (delivery: ResponseOf<'getDelivery'>): DeliveryRow => {
  const { eventId, eventType, reference, status, createdAt, attempts } = delivery
  return {
    eventId,
    eventType,
    reference,
    status,
    createdAt: new Date(createdAt),
    attempts: attempts.map((each) => ({ ...each, startedAt: new Date(each.startedAt) })),
    idempotencyKey: newId(),
  }
}

const refusalTexts = (person: Visitor) => textsWithRefusals(person, 'developers')

/** Reports whether an endpoint was disabled because of its failures. */
export const isFailing = ({ disabledReason }: Pick<ResponseOf<'getSubscription'>, 'disabledReason'>): boolean =>
  disabledReason === 'Failing' || disabledReason === 'Gone'

/** Maximum endpoints that are checked for failing ones. A partner has fewer. */
const failingAmongMax = 100

async function showList({ operate }: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const call = callOf(person, request)
  const { data, shown } = await readList(request, person, ['show'], async ({ show, ...query }) => {
    if (show !== 'failing') return operate('listSubscriptions', { ...call, query: queryText(query) })
    const all = await operate('listSubscriptions', { ...call, query: `limit=${failingAmongMax}` })
    return { data: all.data.filter(isFailing), nextCursor: null }
  })
  const own = {
    ...shown,
    rows: data.map(webhookRow),
    mayWrite: may(person, 'webhooks:write'),
    hasGuests: may(person, 'users:read'),
    done: readCompletedForm(request, ['deleted']),
  }
  return page(request, 200, webhooksPage(person.view, own))
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Visitor,
  after: { readonly test?: TestResult; readonly refused?: FieldProblems } = {},
): Promise<PublicAnswer> {
  const { view } = person
  const { operate } = frame
  const id = readId(request)
  const values = readQuery(request, deliveryFilters)
  const { cursor } = readQuery(request, ['cursor'])
  const call = { ...callOf(person, request), params: { id } }
  const found = await operate('getSubscription', call)
  const statistics = await operate('getSubscriptionStatistics', call)
  const { delivered, pending, held, capped, failingSince } = statistics
  const deliveries = await readPage(texts[view.language].payments, deliveryFilters, () =>
    operate('listDeliveries', { ...call, query: queryText({ ...values, cursor }) }),
  )
  const problems = { ...deliveries.problems, ...after.refused }
  const shown = {
    ...webhookRow(found),
    creator: await readCreatorFact(frame, person, found.id),
    note: found.description,
    signature: found.signature,
    reason: found.disabledReason,
    failingSince: failingSince === null ? undefined : new Date(failingSince),
    counts: { delivered, pending, held },
    isCapped: capped,
    deliveries: deliveries.data.map(deliveryRow),
    values,
    problems,
    pages: pageLinks(`${view.root}webhooks/${id}`, values, cursor, deliveries.nextCursor),
    mayWrite: may(person, 'webhooks:write'),
    idempotencyKey: newId(),
    test: after.test,
    done: readCompletedForm(request, ['enabled', 'redelivered']),
  }
  return page(request, pageStatus(problems), webhookPage(view, shown))
}

type TypedWebhook = Omit<NewWebhook, 'types'>

async function showNew(
  { operate }: Frame,
  request: PublicRequest,
  person: Visitor,
  typed: TypedWebhook = { ...emptyForm, events: [], idempotencyKey: newId() },
): Promise<PublicAnswer> {
  const { data: types } = await operate('listEventTypes', callOf(person, request))
  return page(request, pageStatus(typed.problems), newWebhookPage(person.view, { ...typed, types }))
}

/** Creates an endpoint. The response is the page with the secret, because no later request can show it. */
async function create(frame: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const given = readForm(request)
  const values = readValues(given, ['url', 'description'])
  const events = new URLSearchParams(request.body.toString('utf8')).getAll('events')
  const idempotencyKey = given('idempotencyKey') || newId()
  // The page has one list: each type goes into the field that delivers it.
  const extensionEvents = events.filter((name) => subscriptionField(name) === 'extensionEvents')
  const body = {
    ...values,
    events: events.length === 0 ? [webhooks.allEvents] : events.filter((name) => !extensionEvents.includes(name)),
    extensionEvents,
  }
  try {
    const created = await frame.operate('createSubscription', { ...callOf(person, request), body, idempotencyKey })
    return page(request, 200, secretPage(person.view, { ...created, secret: created.secret }))
  } catch (error) {
    const problems = refusalProblems(refusalTexts(person), error, ['url', 'description', 'events'])
    return showNew(frame, request, person, { values, problems, events, idempotencyKey: newId() })
  }
}

/** Rotates the signing secret. */
async function rotate({ operate }: Frame, request: PublicRequest, person: Visitor): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { id: readId(request) } }
  const { id, url } = await operate('getSubscription', call)
  const idempotencyKey = readForm(request)('idempotencyKey') || newId()
  const { secret } = await operate('rotateSecret', { ...call, body: {}, idempotencyKey })
  return page(request, 200, secretPage(person.view, { id, url, secret }))
}

export const webhookRoutes: Routes = (frame) => {
  const { operate } = frame
  const route = placeRoutes(frame, createWithVisitor(frame, frame.withPerson), 'webhooks')
  type Act = (request: PublicRequest, person: Visitor) => Promise<PublicAnswer>
  /** Creates the route of a form on the page of an endpoint. A refusal shows the page again. */
  const form = (name: string, act: Act): PublicRoute =>
    route('POST', `/{id}/${name}`, 'webhooks:write', async (_frame, request, person) => {
      try {
        return await act(request, person)
      } catch (error) {
        return showOne(frame, request, person, { refused: refusalProblems(refusalTexts(person), error, []) })
      }
    })
  return [
    route('GET', '', 'webhooks:read', showList),
    route('GET', '/new', 'webhooks:write', showNew),
    route('POST', '/new', 'webhooks:write', create),
    route('GET', '/{id}', 'webhooks:read', showOne),
    form('enable', async (request, person) => {
      const id = readId(request)
      await operate('enableSubscription', { ...callOf(person, request), params: { id } })
      return seeOther(`../${id}?done=enabled`)
    }),
    form('redeliver', async (request, person) => {
      const [id, given] = [readId(request), readForm(request)]
      const eventId = given('eventId')
      if (!uuidPattern.test(eventId)) throw notFound('page')
      const call = { ...callOf(person, request), params: { id, eventId } }
      await operate('redeliver', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
      return seeOther(`../${id}?done=redelivered`)
    }),
    {
      ...form('test', async (request, person) => {
        const call = { ...callOf(person, request), params: { id: readId(request) }, body: {} }
        return showOne(frame, request, person, { test: await operate('testSubscription', call) })
      }),
      callsChosenHost: true,
    },
    form('rotate', (request, person) => rotate(frame, request, person)),
    form('delete', async (request, person) => {
      await operate('deleteSubscription', { ...callOf(person, request), params: { id: readId(request) } })
      return seeOther('../../webhooks?done=deleted')
    }),
  ]
}
