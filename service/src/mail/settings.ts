import { refuseSetting, type Settings } from '../kernel/index.ts'
import { readMailbox, smtpTransport } from './transport.ts'

const defaultSender = 'no-reply@localhost'

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
      readMailbox(value ?? defaultSender)
        ? (value ?? defaultSender)
        : refuseSetting('must be `Name <address@domain>` or `address@domain`'),
  },
} as const satisfies Settings
