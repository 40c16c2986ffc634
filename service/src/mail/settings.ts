import { isUuid, refuseSetting, type Settings } from '../kernel/index.ts'
import { type Mailbox, parseMailbox, smtpTransport } from './transport.ts'

const defaultSender = 'no-reply@localhost'

/** Reads `partner=Name <address@domain>`, separated by commas. */
function readSenders(value: string | undefined): ReadonlyMap<string, Mailbox> {
  const entries = (value ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [partnerId = '', text = ''] = part.trim().split(/=(.*)/s)
      const mailbox = parseMailbox(text)
      if (!isUuid(partnerId) || mailbox === undefined || mailbox.name === '')
        return refuseSetting('must be PARTNER_ID=Name <address@domain>, separated by commas')
      return [partnerId.toLowerCase(), mailbox] as const
    })
  return new Map(entries)
}

export const mailSettings = {
  SMTP_URL: {
    default: 'none: mails are written to DATA_DIR/mailbox',
    description: 'Mail server: `smtp://user:password@host:port` or `smtps://...`',
    secret: true,
    read: (value: string | undefined) => {
      // The transport validates its URL here and connects to nothing yet.
      if (value !== undefined) smtpTransport(value)
      return value
    },
  },
  MAIL_FROM: {
    default: `\`${defaultSender}\``,
    description: 'Sender of mails. Without a name: BRAND_NAME',
    read: (value: string | undefined) =>
      parseMailbox(value ?? defaultSender)
        ? (value ?? defaultSender)
        : refuseSetting('must be `Name <address@domain>` or `address@domain`'),
  },
  MAIL_SENDERS: {
    default: 'none: MAIL_FROM, and the name of the installation',
    description:
      'Senders of the mails of partners that have one of their own: `PARTNER_ID=Name <address@domain>`, separated by commas. The name is the sender. The address is the sender if it has the domain of MAIL_FROM, for which the mail server may send; any other address receives the replies (Reply-To)',
    read: readSenders,
  },
} as const satisfies Settings
