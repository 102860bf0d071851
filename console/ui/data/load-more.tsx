import type { PagedList } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../button.tsx'

type LoadMoreProps = {
  list: Pick<PagedList<unknown>, 'has_more' | 'is_loading_more' | 'loadMore'>
  size?: 'sm'
}

/** The button below a list that has further pages; nothing where it has none. */
export function LoadMore({ list, size }: LoadMoreProps) {
  const t = useText('kit')
  if (!list.has_more) return null
  return (
    <div className="mt-3 flex justify-center">
      <Button {...(size && { size })} busy={list.is_loading_more} onClick={list.loadMore}>
        {t('load_more')}
      </Button>
    </div>
  )
}
