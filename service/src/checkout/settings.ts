/** The settings of checkout. */
import { integer, isUuid, refuseSetting, type Settings } from '../kernel/index.ts'

const daysMax = 365

/**
 * `partner=https://pay.shop.example`, separated by commas. Two partners never share a host, because the host decides
 * whose pages are shown.
 */
function readUrls(value: string | undefined): ReadonlyMap<string, string> {
  const entries = (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [partnerId = '', address = ''] = part.split(/=(.*)/s)
      const url = URL.parse(address)
      const isAddress =
        url !== null && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === ''
      if (!isUuid(partnerId) || !isAddress || url.username !== '')
        return refuseSetting('must be PARTNER_ID=https://host, separated by commas')
      return [partnerId.toLowerCase(), url] as const
    })
  if (new Set(entries.map(([, { host }]) => host)).size < entries.length)
    return refuseSetting('must give each partner its own host')
  const urls = new Map(entries.map(([partnerId, { href }]) => [partnerId, href]))
  return urls.size < entries.length ? refuseSetting('must name each partner once') : urls
}

export const checkoutSettings = {
  CHECKOUT_CHOICE_DAYS: {
    default: '7',
    description:
      'Days in which a partner may accept or return money that did not fit its checkout session. The operator may decide the case at any time; after that, only the operator can',
    read: integer(1, daysMax, 7),
  },
  CHECKOUT_URLS: {
    default: 'none: PUBLIC_URL',
    description:
      'Addresses of the payment pages of partners that have one of their own: `PARTNER_ID=https://pay.shop.example`, separated by commas. Links of these partners begin with it, and their host shows no page of another partner. A proxy ends TLS for the host and passes `Host` on',
    read: readUrls,
  },
} as const satisfies Settings
