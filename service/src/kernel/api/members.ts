/** Mails other than invitations go to members of the team only. */
import { refuseFields } from './refusal.ts'

export type Member = { readonly fullName: string; readonly email: string }

/** Returns each address once, as the member was invited. Refuses (400, with pointers): addresses of people who are not in the team. */
export function requireMembers(
  emails: readonly string[],
  members: ReadonlyMap<string, Member>,
  pointer: string,
): readonly string[] {
  refuseFields(
    emails.flatMap((address, index) =>
      members.has(address)
        ? []
        : [
            {
              pointer: `${pointer}/${index}`,
              code: 'invalid_value' as const,
              message: 'is not a member of your team: invite the person first',
            },
          ],
    ),
  )
  return [...new Set(emails.map((address) => members.get(address)?.email ?? address))]
}
