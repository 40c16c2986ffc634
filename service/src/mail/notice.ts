/** What a notice of a failing endpoint says: plain text, and the same in simple HTML. */
import type { ClaimedNotice } from '../delivery/index.ts'
import { escape, htmlPage, utc } from './text.ts'
import { oneLine } from './transport.ts'

export type Notice = Pick<ClaimedNotice, 'subscriptionId' | 'kind' | 'url' | 'failingSince' | 'lastError' | 'createdAt'>

const shownCharsMax = 300
const shown = (text: string) => oneLine(text).slice(0, shownCharsMax)

/** Without its query, which may hold a partner's own secret. */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return shown(`${origin}${pathname}${search === '' ? '' : '?...'}`)
}

const subjects: Readonly<Record<Notice['kind'], (host: string) => string>> = {
  Failing24h: (host) => `Webhooks to ${host} have failed for 24 hours`,
  Failing72h: (host) => `Webhooks to ${host} have failed for 72 hours`,
  DisabledFailing: (host) => `Webhooks to ${host} are disabled: they failed for 5 days`,
  DisabledGone: (host) => `Webhooks to ${host} are disabled: the endpoint answered 410 Gone`,
}

const still =
  'Nothing is lost: what could not be delivered is kept and tried again. After 5 days of failing the endpoint is disabled.'
const held = 'Nothing more is sent to it. What it is owed is kept for 30 days and delivered once it is enabled again.'

export function renderNotice(notice: Notice, partnerName: string, toName: string) {
  const { kind, subscriptionId, failingSince, lastError, createdAt } = notice
  const disabled = kind === 'DisabledFailing' || kind === 'DisabledGone'
  const path = `/v1/webhooks/${subscriptionId}`
  const facts = [
    `Endpoint: ${shownUrl(notice.url)}`,
    `Subscription: ${subscriptionId}`,
    ...(failingSince === null ? [] : [`No delivery has succeeded since: ${utc(failingSince)}`]),
    ...(disabled ? [`Disabled at: ${utc(createdAt)}`] : []),
    ...(lastError === null ? [] : [`Last error: ${shown(lastError)}`]),
  ]
  const subject = subjects[kind](new URL(notice.url).host)
  const paragraphs = [
    `Hello ${oneLine(toName)},`,
    `${subject}. They are webhooks of ${oneLine(partnerName)}.`,
    ...facts,
    disabled ? held : still,
    `To see each attempt and its answer: GET ${path}/deliveries`,
    ...(disabled ? [`Once the endpoint answers again: POST ${path}/enable`] : []),
    'You get this mail because you are invited as an Admin or a Developer of this partner.',
  ]
  return {
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
    html: htmlPage(paragraphs.map(escape)),
    link: null,
  }
}
