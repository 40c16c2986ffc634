/** The roles of a team, each with what it allows. */
import { type ConsoleView, type RoleName, roleText } from './view.ts'

export function roleOptions(view: ConsoleView, roles: readonly RoleName[]) {
  const { t } = view
  const helps = { Admin: t.roleAdminText, Developer: t.roleDeveloperText, Operator: t.roleOperatorText }
  return roles.map((value) => ({ value, label: roleText(view, value), help: helps[value] }))
}
