/** What every way out has in common: one message, one recipient, and no text that could become a second header line. */
import type { SendMailOptions } from 'nodemailer'

export type Mailbox = { readonly name: string; readonly address: string }

export type MailMessage = {
  /** `<id@domain>`: the same at every attempt. */
  readonly messageId: string
  readonly date: Date
  readonly from: Mailbox
  readonly to: Mailbox
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The link that the text shows, if it shows one. */
  readonly link: string | null
}

export type MailTransport = {
  /** Resolves once the mail is somebody else's to keep. Throws MailRefused where another attempt would be in vain. */
  readonly send: (message: MailMessage) => Promise<void>
}

/** The mail will never be taken as it is. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

const mailboxText = /^(?:(?<name>[^<>]*?)\s*<(?<bracketed>[^<>]+)>|(?<bare>\S+))$/

/** Reads `Name <a@b.example>` or `a@b.example`; undefined where it is neither. */
export function readMailbox(text: string): Mailbox | undefined {
  const groups = mailboxText.exec(text.trim())?.groups
  const address = groups?.['bracketed'] ?? groups?.['bare'] ?? ''
  return isAddress(address) ? { name: oneLine(groups?.['name'] ?? '').replace(/^"(.*)"$/, '$1'), address } : undefined
}

/** The specials of RFC 5322 could make one address two, or another one. */
export function isAddress(address: string): boolean {
  return /^[^\p{Cc}\s"(),:;<>@[\\\]]+@[^\p{Cc}\s"(),:;<>@[\\\]]+$/u.test(address) && address.isWellFormed()
}

/** A name as one line of plain text: no control characters, and none of those that turn the reading direction. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The message as nodemailer takes it: addresses as objects, which it never parses, and no reading of files or URLs. */
export function toNodemailer({ link: _link, to, from, subject, ...message }: MailMessage) {
  if (!isAddress(to.address)) throw new MailRefused('the address cannot stand in a mail')
  return {
    ...message,
    subject: oneLine(subject),
    from: { name: oneLine(from.name), address: from.address },
    to: { name: oneLine(to.name), address: to.address },
    envelope: { from: from.address, to: to.address },
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions
}
