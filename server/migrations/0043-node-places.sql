-- Where a node runs on its host, so that several of one host can be told apart. Null for nodes of an earlier version.
alter table nodes add column data_dir text;
alter table nodes add column pid integer;

-- The node of the process that answered. Processes in containers may share host name and process id. Empty for nodes of an earlier version.
alter table reload_answers add column node_id text not null default '';
alter table reload_answers drop constraint reload_answers_pkey;
alter table reload_answers add primary key (reload_id, node_id, host, pid);
