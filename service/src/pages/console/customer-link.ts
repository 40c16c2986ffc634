/** Links to customers from the pages of payouts, payees, wallets and reports. */
import { ifFound, type PublicRequest } from '../../kernel/api/index.ts'
import { callOf, type Frame, type Person } from './request.ts'

export type CustomerLink = { readonly name: string; readonly href?: string | undefined }

/** Reads names and links of customers by id. An erased or unreadable customer has its id as the name, and no link. */
export async function readCustomerLinks(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  ids: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, CustomerLink>> {
  const { view, caller } = person
  const mayRead = caller.permissions.includes('customers:read')
  const links = [...new Set(ids)]
    .flatMap((id) => (id === undefined ? [] : [id]))
    .map(async (id) => {
      const call = { ...callOf(person, request), params: { id } }
      const customer = mayRead ? await ifFound(operate('getCustomer', call)) : undefined
      if (customer === undefined) return [id, { name: id }] as const
      const { kyc, email } = customer
      const name = kyc.legalName ?? kyc.fullName ?? kyc.tradingName ?? email ?? id
      return [id, { name, href: `${view.root}customers/${id}` }] as const
    })
  return new Map(await Promise.all(links))
}
