import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { OrganizationSettings } from '../../server/identity/schema.ts'
import { request } from '../api/request.ts'
import { ORGANIZATION_KEY, useOrganization } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { FailureNote } from '../ui/failure-note.tsx'
import { useFailureTexts } from '../ui/failure-text.ts'
import { Select } from '../ui/form/input.tsx'
import { Card, Skeleton } from '../ui/layout.tsx'
import { toast } from '../ui/overlay/toast.ts'

type Choice = OrganizationSettings['members_delete']

/** Whether members may delete what others have made. */
export function Deleting() {
  const t = useText('members')
  const queries = useQueryClient()
  const failureText = useFailureTexts()
  const { data, error, refetch } = useOrganization()
  const change = useMutation({
    mutationFn: (members_delete: Choice) =>
      request<OrganizationSettings>('PATCH', '/console/organization', { body: { members_delete } }),
    onSuccess: (saved) => {
      queries.setQueryData(ORGANIZATION_KEY, saved)
      void queries.invalidateQueries({ queryKey: ['activity'] })
      toast(t('deleting.saved'))
    },
    onError: (failure) => toast(failureText(failure), 'danger'),
  })
  if (error) return <FailureNote error={error} onRetry={() => void refetch()} />
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <p id="members-delete-hint" className="max-w-prose text-sm text-muted">
          {t('deleting.text')}
        </p>
        {data ? (
          <Select<Choice>
            aria-label={t('deleting.label')}
            aria-describedby="members-delete-hint"
            className="w-84 max-w-full"
            value={change.isPending ? change.variables : data.members_delete}
            options={[
              { value: 'all', label: t('deleting.all') },
              { value: 'own', label: t('deleting.own') },
            ]}
            onChange={(choice) => change.mutate(choice)}
          />
        ) : (
          <Skeleton className="h-9 w-84 max-w-full" />
        )}
      </div>
    </Card>
  )
}
